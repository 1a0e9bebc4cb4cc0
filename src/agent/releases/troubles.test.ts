import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Installed, Member } from "./installed.ts";
import { NOTHING_WANTED, type ReleaseRecord } from "./release-record.ts";
import { Troubles } from "./troubles.ts";

const record = (changes: Partial<ReleaseRecord> = {}): ReleaseRecord => ({
  ...{ id: "dep_1", status: "running", desiredReleaseId: null, currentReleaseId: "rel_1", wanted: NOTHING_WANTED },
  ...changes,
});
const installed = (drift: Installed["drift"] = []): Installed => ({
  ...{ releaseId: "rel_1", version: "1", appliedAt: undefined, rollout: "duop-1", namespaces: ["shop"] },
  ...{ drift, notCompared: undefined },
});
const member = (isUnhealthy: boolean, name = "deployment/shop/web"): Member => ({
  resourceId: "web",
  name,
  isUnhealthy,
});
const MINUTE = 60_000;

test("a workload that is unhealthy for ten minutes is told, and not one that was well in between", () => {
  const clock = new FakeClock("2026-01-01T10:00:00Z");
  const troubles = new Troubles(clock);
  const told = (...members: Member[]) => troubles.of(record(), installed(), members, true)?.message;
  expect(told(member(true))).toBeUndefined();
  clock.advance(9 * MINUTE);
  expect(told(member(false))).toBeUndefined();
  expect(told(member(true))).toBeUndefined();
  clock.advance(10 * MINUTE - 1);
  expect(told(member(true), member(true, "deployment/shop/new"))).toBeUndefined();
  clock.advance(1);
  expect(told(member(true), member(true, "deployment/shop/new"))).toBe(
    "unhealthy for ten minutes: 1 workload of the release: deployment/shop/web",
  );
  expect(told(member(false))).toBeUndefined();
});

test("after a restart what was told stays told, until it is healthy", () => {
  const troubles = new Troubles(new FakeClock("2026-01-01T10:00:00Z"));
  const error = { code: "RESOURCE_UNHEALTHY", message: "", internal: false };
  const told = record({ status: "refresh-failed", wanted: { ...NOTHING_WANTED, error } });
  expect(troubles.of(told, installed(), [member(true)], true)?.code).toBe("RESOURCE_UNHEALTHY");
  expect(troubles.of(told, installed(), [member(false)], true)).toBeUndefined();
  expect(troubles.of(told, installed(), [member(true)], true)).toBeUndefined();
});

test("drift names object, field and manager, and only counts where names are hidden; without a release there is none", () => {
  const troubles = new Troubles(new FakeClock("2026-01-01T10:00:00Z"));
  const ref = "Deployment.apps/shop/web";
  const drift = [{ ref, field: ".spec.replicas", manager: "kubectl-edit" }, { ref }, { ref: "Service/shop/web" }];
  expect(troubles.of(record(), installed(drift), [], true)).toMatchObject({
    code: "RESOURCE_DRIFT",
    message: `others have changed 2 objects of the release: ${ref} .spec.replicas is kubectl-edit's`,
    context: {
      ...{ objects: 2, missing: 2 },
      drift: [{ object: ref, field: ".spec.replicas", manager: "kubectl-edit" }, { object: ref }, expect.anything()],
    },
  });
  const hidden = troubles.of(record(), installed(drift), [], false);
  expect(hidden?.context).toEqual({ objects: 2, missing: 2 });
  expect(JSON.stringify(hidden)).not.toMatch(/web|shop|replicas|kubectl/);
  expect(troubles.of(record(), undefined, [member(true)], true)).toBeUndefined();
});
