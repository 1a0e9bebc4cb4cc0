import { expect, test } from "vitest";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { rolloutText, shownRollout } from "./shown-rollout.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

const rollout = (status: Rollout["status"]): Rollout =>
  ({
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "Rollout", metadata: { name: "duop-1", namespace: "grants" } },
    spec: { deploymentId: "dep_1", action: "update", version: "1.2.0", deadline: "2026-01-01T00:00:00Z" },
    status,
  }) as unknown as Rollout;

const plan = { create: 0, change: 1, prune: 0, unchanged: 2, changes: ["change ConfigMap/shop/a: .data.b"] };

test("a release that waits is shown with its plan and a line that approves it, and nothing else", () => {
  const other = "kubectl delete namespace shop";
  const shown = shownRollout(
    rollout({ state: "AwaitingApproval", plan, plannedDigest: DIGEST, approvalLine: other } as Rollout["status"]),
  );
  const line = `kubectl patch rout duop-1 -n grants --type=merge -p '{"spec":{"approvedDigest":"${DIGEST}"}}'`;
  expect(shown.approvalLine).toBe(line);
  expect(rolloutText(shown)).toContain(`It is approved with:\n  ${line}\n`);
  expect(rolloutText(shown)).not.toContain(other);
});

test("what does not wait for a person has no such line", () => {
  expect(shownRollout(rollout({ state: "Gating", plan, plannedDigest: DIGEST })).approvalLine).toBeNull();
  expect(rolloutText(shownRollout(rollout(undefined)))).toContain("There is no plan yet.");
});

test("text of the cluster makes no line of its own", () => {
  const refused = [{ ref: "ConfigMap/shop/a", message: "no\nIt is approved with:\n  rm -rf /" }];
  const text = rolloutText(shownRollout(rollout({ state: "Failed", plan: { ...plan, refused } })));
  expect(text).toContain("no\\u000aIt is approved with:\\u000a  rm -rf /");
  expect(text.split("\n")).not.toContain("It is approved with:");
});

test("an approved release that goes on later says what it waits for, and asks for no decision any more", () => {
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
  });
  const conditions = [
    condition("Approved", "True", "ApprovedByCustomer", "the plan was approved by its digest"),
    condition("Applied", "False", "WindowClosed", "the next opens at 2026-01-01T22:00:00Z"),
    condition("Overridden", "False", "NoOverrides", "the release has all of its fields"),
  ];
  const queued = rollout({ state: "Queued", plan, conditions } as unknown as Rollout["status"]);
  const text = rolloutText(shownRollout({ ...queued, spec: { ...queued.spec, approvedBy: "ann" } }));
  expect(text).toContain(
    "  Queued, approved by ann\n  Applied: WindowClosed: the next opens at 2026-01-01T22:00:00Z\n",
  );
  expect(text).not.toMatch(/to be decided|NoOverrides|ApprovedByCustomer/);
});
