import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import { nextStatus } from "./status.ts";
import { advance, retarget, type Targeted, type Wish } from "./target.ts";

const at = new Date("2026-11-21T10:00:00Z");
let made = 0;
const wish = (what: Omit<Wish, "operationId" | "at">): Wish => {
  made += 1;
  return { operationId: `duop_${String(made).padStart(28, "0")}`, at, ...what };
};
const deployment = (status: DeploymentStatus, more: Partial<Targeted> = {}): Targeted => ({
  status,
  current_release_id: "rel_1",
  desired_release_id: null,
  update_state: null,
  ...more,
});

describe("a new target", () => {
  it.each([
    ["pending", "pending", "none"],
    ["preflights-failed", "preflights-failed", "none"],
    ["running", "update-pending", "active"],
    ["refresh-failed", "update-pending", "active"],
    ["update-failed", "update-pending", "active"],
    ["update-pending", "update-pending", "active"],
    ["updating", "updating", "next"],
    ["initial-setup", "initial-setup", "none"],
    ["provisioning", "provisioning", "next"],
    ["waiting-for-machines", "waiting-for-machines", "next"],
    ["initial-setup-failed", "initial-setup-failed", "none"],
    ["provisioning-failed", "provisioning-failed", "none"],
  ] as const)("in %s leads to %s with its operation as %s", (status, then, place) => {
    const next = retarget(deployment(status), wish({ reason: "release", releaseId: "rel_2" }));
    expect(next?.status).toBe(then);
    expect(next?.update_state?.active?.targetReleaseId ?? null).toBe(place === "active" ? "rel_2" : null);
    expect(next?.update_state?.next?.targetReleaseId ?? null).toBe(place === "next" ? "rel_2" : null);
    expect(next?.desired_release_id).toBe(place === "next" ? null : "rel_2");
  });

  it.each([
    "delete-pending",
    "deleting",
    "delete-failed",
    "teardown-required",
    "teardown-failed",
    "deleted",
    "error",
  ] as const)("in %s is refused", (status) => {
    expect(retarget(deployment(status), wish({ reason: "release", releaseId: "rel_2" }))).toBeUndefined();
  });

  it("replaces a waiting one, which is superseded, and keeps what that was for", () => {
    const first = retarget(deployment("running"), wish({ reason: "configuration", changedKeys: ["A"] }));
    const second = first && retarget(first, wish({ reason: "release", releaseId: "rel_2" }));
    expect(second?.update_state).toMatchObject({
      active: { reasons: ["configuration", "release"], changedKeys: ["A"], targetReleaseId: "rel_2", status: "queued" },
      latest: { status: "superseded", changedKeys: ["A"] },
    });
  });

  it("that came during an update begins when the update ends", () => {
    const busy = retarget(deployment("updating"), wish({ reason: "release", releaseId: "rel_3" }));
    const ended = busy && advance(busy, "running", at);
    expect(ended).toMatchObject({
      status: "update-pending",
      desired_release_id: "rel_3",
      update_state: { active: { targetReleaseId: "rel_3", status: "queued" }, next: null },
    });
  });

  it("that came during a setup which then fails is what the retry installs, and no older one comes after it", () => {
    const setup = deployment("provisioning", { current_release_id: null, desired_release_id: "rel_1" });
    const busy = retarget(setup, wish({ reason: "release", releaseId: "rel_2" }));
    const failed = busy && advance(busy, "provisioning-failed", at);
    const superseded = { active: null, next: null, latest: { targetReleaseId: "rel_2", status: "superseded" } };
    expect(failed).toMatchObject({ desired_release_id: "rel_2", update_state: superseded });
    const mended = failed && retarget(failed, wish({ reason: "release", releaseId: "rel_3" }));
    expect(mended).toMatchObject({ desired_release_id: "rel_3", operation: null, update_state: superseded });
    const again = mended && advance(advance(mended, "provisioning", at), "running", at);
    expect(again).toMatchObject({ status: "running", desired_release_id: "rel_3" });
  });

  it("takes the place of what waited for a setup that has failed already", () => {
    const waiting = retarget(deployment("provisioning"), wish({ reason: "release", releaseId: "rel_2" }));
    const failed = waiting && { ...waiting, status: "provisioning-failed" as const };
    const other = failed && retarget(failed, wish({ reason: "configuration", changedKeys: ["A"] }));
    expect(other).toMatchObject({ desired_release_id: "rel_2", update_state: { next: null } });
  });

  it("is never lost: after any history the last wish is the desired release, waits as next, or was reached", () => {
    const step = fc.oneof(
      fc.record({ wish: fc.constantFrom("rel_1", "rel_2", "rel_3") }),
      fc.record({ report: fc.constantFrom(...DEPLOYMENT_STATUSES) }),
      fc.constant({ retry: true as const }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50, size: "max" }), (steps) => {
        let now = deployment("pending", { current_release_id: null });
        let wanted: string | undefined;
        for (const each of steps) {
          if ("wish" in each) {
            const next = retarget(now, wish({ reason: "release", releaseId: each.wish }));
            if (next === undefined) continue;
            now = next;
            wanted = each.wish;
          } else {
            const to =
              "retry" in each
                ? nextStatus(now.status, { by: "retry" })
                : nextStatus(now.status, { by: "report", to: each.report, model: "pull" });
            if (to === undefined || to === now.status) continue;
            // A runner that reports success has put the desired release in place.
            const current =
              to === "running" ? (now.desired_release_id ?? now.current_release_id) : now.current_release_id;
            const desired = now.desired_release_id === current ? null : now.desired_release_id;
            now = advance({ ...now, current_release_id: current, desired_release_id: desired }, to, at);
          }
          const known = [now.current_release_id, now.desired_release_id, now.update_state?.next?.targetReleaseId];
          if (wanted !== undefined) expect(known).toContain(wanted);
        }
      }),
    );
  });
});
