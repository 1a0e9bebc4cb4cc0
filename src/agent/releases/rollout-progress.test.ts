import { describe, expect, test } from "vitest";
import type { Rollout, RolloutState, RolloutStatus } from "../../crds/kinds/rollout.ts";
import { afterAnother, rolloutError, stored } from "./rollout-progress.ts";

const AT = "2026-01-01T12:00:00Z";

function rollout(state: RolloutState, more: RolloutStatus = {}, spec: Partial<Rollout["spec"]> = {}): Rollout {
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "Rollout",
    metadata: { name: "duop-1", uid: "u", resourceVersion: "1", creationTimestamp: AT },
    spec: { rolloutId: "duop_1", deploymentId: "dep_1", action: "update", requestedAt: AT, deadline: AT, ...spec },
    status: { state, ...more },
  };
}

const because = (type: string, reason: string, message: string): RolloutStatus => ({
  conditions: [{ type, status: "False", reason, message, lastTransitionTime: AT }],
});
const planRefusing = (...names: readonly string[]): RolloutStatus => {
  const refused = names.map((name) => ({ ref: `ConfigMap/shop/${name}`, message: "NotOurs: no" }));
  return { plan: { create: 0, change: 0, prune: 0, unchanged: 0, refused } };
};

describe("objects of the customer that are in the way are told", () => {
  const inTheWay = (...names: readonly string[]) =>
    rollout("AwaitingApproval", {
      ...planRefusing(...names),
      ...because("Planned", "NotOurs", "2 wait: ConfigMap/shop/a"),
    });

  test("by name, with what the customer has to do", () => {
    expect(rolloutError(inTheWay("a", "b"), true)).toMatchObject({
      code: "APPROVAL_PENDING",
      message: expect.stringMatching(
        /: 2 objects of the customer; .* removes it: ConfigMap\/shop\/a, ConfigMap\/shop\/b$/,
      ),
      context: { inTheWay: 2, objects: ["ConfigMap/shop/a", "ConfigMap/shop/b"] },
    });
  });
  test("ten by name, and the number of all", () => {
    const names = Array.from({ length: 12 }, (_, index) => `a${index}`);
    const found = rolloutError(inTheWay(...names), true);
    expect(found?.message).toMatch(/ConfigMap\/shop\/a9, and 2 more$/);
    expect(found?.context).toMatchObject({ inTheWay: 12, objects: expect.toSatisfy((all) => all.length === 10) });
  });
  test("not at all while names are hidden: a guessed name would be answered", () => {
    const found = rolloutError(inTheWay("a", "b"), false);
    expect(found).toEqual(rolloutError(rollout("AwaitingApproval", {}), false));
  });
});

test.each<[string, string]>([
  ["AbortedByCustomer", "the customer stopped it"],
  ["DeniedByCustomer", "the customer denied it while it ran"],
  ["PolicyDenied", "the customer's policy denied it while it ran"],
  ["TimeOver", "its time was over"],
  ["GateFailed", "it did not come up"],
])(
  "a rollout that was taken back because of %s says so; names of the cluster only where they are told",
  (reason, why) => {
    const back = rollout("RolledBack", { startedAt: AT, ...because("Applied", reason, "peak hours") });
    expect(rolloutError(back, true)?.message).toBe(`${why}, and what ran before runs again: peak hours`);
    expect(rolloutError(back, false)?.message).toBe(`${why}, and what ran before runs again`);
  },
);

describe("a rollout that was stopped, and not taken back", () => {
  const PARTS = "it was not taken back as a whole, and parts of it may be there";
  const denied = { startedAt: AT, ...because("Applied", "DeniedByCustomer", "denied: peak hours") };
  test("says by whom, and that parts are there", () => {
    const found = rolloutError(rollout("Failed", denied), true);
    expect(found?.message).toBe(`the customer denied it while it ran; ${PARTS}: denied: peak hours`);
    const aborted = rollout("Aborted", { startedAt: AT }, { abortReason: "peak hours" });
    expect(rolloutError(aborted, true)?.message).toBe(`the customer stopped the rollout; ${PARTS}: peak hours`);
  });
  test("has parts no more where it deletes", () => {
    const found = rolloutError(rollout("Failed", denied, { action: "delete" }), true);
    expect(found?.message).toBe("the customer denied it while it ran: denied: peak hours");
  });
});

describe("of a rollout that ended before it began, after one that has failed", () => {
  const denial = stored("ROLLOUT_DENIED", "the customer said no: not now");
  const later = { action: "update", rolloutId: "duop_2" } as const;
  const began = (state: RolloutState) => rollout(state, { startedAt: AT });

  test.each<RolloutState>(["Failed", "Aborted"])("the failure is told, with the denial as its reason: %s", (state) => {
    expect(afterAnother(denial, later, [began(state)])).toMatchObject({
      code: "UPDATE_FAILED",
      message: expect.stringMatching(/parts of it may be there; after that: the customer said no: not now$/),
      context: { before: "duop_1" },
    });
  });
  test("what was refused keeps its code and its context", () => {
    const refusal = stored("PREFLIGHT_CHECKS_FAILED", "the plan could not be carried out", { refused: [] });
    expect(afterAnother(refusal, later, [began("Failed")])).toMatchObject({
      code: "PREFLIGHT_CHECKS_FAILED",
      context: { before: "duop_1", refused: [] },
    });
  });
  test.each<[string, Parameters<typeof afterAnother>[1], readonly Rollout[]]>([
    ["nothing has begun", later, [rollout("Failed")]],
    ["it was taken back", later, [began("RolledBack")]],
    ["it is the one that failed", { action: "update", rolloutId: "duop_1" }, [began("Failed")]],
    ["a deletion was denied", { action: "delete", rolloutId: "delete-dep_1" }, [began("Failed")]],
  ])("nothing is added where %s", (_, wish, rollouts) => {
    expect(afterAnother(denial, wish, rollouts)).toBe(denial);
  });
});
