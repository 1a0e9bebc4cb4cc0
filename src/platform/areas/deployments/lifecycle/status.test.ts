import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import { INSTEAD } from "./hints.ts";
import { canRetry, nextStatus, type Trigger } from "./status.ts";

/** §24.4, written down again as from → to pairs by trigger: the naive twin of status.ts. */
const PUSH_REPORTS = `
pending>initial-setup pending>preflights-failed initial-setup>provisioning initial-setup>initial-setup-failed
provisioning>running provisioning>waiting-for-machines provisioning>provisioning-failed
waiting-for-machines>provisioning waiting-for-machines>updating waiting-for-machines>running
waiting-for-machines>provisioning-failed waiting-for-machines>update-failed
running>update-pending running>refresh-failed refresh-failed>running refresh-failed>update-pending
update-pending>updating update-pending>update-failed updating>running updating>waiting-for-machines updating>update-failed
delete-pending>deleting deleting>deleted deleting>teardown-required deleting>delete-failed
teardown-required>deleted teardown-required>teardown-failed`;
const PULL_ONLY = `
pending>running pending>initial-setup-failed pending>provisioning-failed
initial-setup>running initial-setup>provisioning-failed update-pending>running
delete-pending>deleted delete-pending>teardown-required delete-pending>delete-failed`;
const RETRIES = `
preflights-failed>pending initial-setup-failed>initial-setup provisioning-failed>provisioning
refresh-failed>update-pending update-failed>update-pending delete-failed>deleting teardown-failed>teardown-required`;
const TARGETS = "running>update-pending refresh-failed>update-pending update-failed>update-pending";
const NOT_DELETABLE = ["deleting", "deleted", "teardown-required", "teardown-failed", "delete-pending"];

const pairs = (text: string): Set<string> => new Set(text.trim().split(/\s+/));
const [push, pull, retry, target] = [PUSH_REPORTS, PULL_ONLY, RETRIES, TARGETS].map(pairs) as [
  Set<string>,
  Set<string>,
  Set<string>,
  Set<string>,
];

/** May `trigger` lead from `from` to `to`? */
function legal(from: DeploymentStatus, trigger: Trigger, to: DeploymentStatus): boolean {
  const move = `${from}>${to}`;
  switch (trigger.by) {
    case "report":
      if (trigger.to !== to) return false;
      if (from === to || push.has(move)) return true;
      if (to === "error") return from !== "deleted";
      return trigger.model === "pull" && pull.has(move);
    case "target":
      return target.has(move);
    case "retry":
      return retry.has(move);
    case "delete":
      if (trigger.action === "forget") return to === "deleted" && from !== "deleted";
      return to === "delete-pending" && !NOT_DELETABLE.includes(from);
  }
}

const status = fc.constantFrom(...DEPLOYMENT_STATUSES);
const trigger: fc.Arbitrary<Trigger> = fc.oneof(
  fc.record({
    by: fc.constant("report" as const),
    to: status,
    model: fc.constantFrom("push" as const, "pull" as const),
  }),
  fc.constant({ by: "target" as const }),
  fc.constant({ by: "retry" as const }),
  fc.record({
    by: fc.constant("delete" as const),
    action: fc.constantFrom("cleanup" as const, "detach" as const, "forget" as const),
  }),
);

describe("deployment status", () => {
  it("every state and trigger leads where the table says and nowhere else", () => {
    const triggers: Trigger[] = [
      ...DEPLOYMENT_STATUSES.flatMap((to) => [
        { by: "report" as const, to, model: "push" as const },
        { by: "report" as const, to, model: "pull" as const },
      ]),
      { by: "target" },
      { by: "retry" },
      { by: "delete", action: "cleanup" },
      { by: "delete", action: "forget" },
    ];
    for (const from of DEPLOYMENT_STATUSES) {
      for (const each of triggers) {
        const expected = DEPLOYMENT_STATUSES.filter((to) => legal(from, each, to));
        const next = nextStatus(from, each);
        expect([from, each, next === undefined ? [] : [next]]).toEqual([from, each, expected]);
      }
    }
  });

  it("any life ends in deleted for good, and until then can be ended", () => {
    fc.assert(
      fc.property(fc.array(trigger, { maxLength: 60, size: "max" }), (steps) => {
        let now: DeploymentStatus = "pending";
        for (const step of steps) {
          const before = now;
          now = nextStatus(now, step) ?? now;
          if (before === "deleted") expect(now).toBe("deleted");
          if (now !== "deleted") expect(nextStatus(now, { by: "delete", action: "forget" })).toBe("deleted");
        }
      }),
    );
  });
});

it("tells to retry where a retry is taken, and what to do instead elsewhere", () => {
  for (const status of DEPLOYMENT_STATUSES) {
    expect(INSTEAD[status].startsWith("retry it"), status).toBe(canRetry(status));
  }
});
