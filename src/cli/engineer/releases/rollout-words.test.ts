import { expect, test } from "vitest";
import type { ReleaseDeployment } from "../../../contract/releases/releases.ts";
import { waitsForCustomer, whyOf } from "./rollout-words.ts";
import { type Standing, standingOf } from "./standing.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const RELEASE = { id: "rel_new", stack: { kubernetes: {} } } as unknown as Parameters<typeof standingOf>[1];

interface Given {
  readonly code?: string;
  readonly message?: string;
  readonly isRetried?: boolean;
  readonly failedOf?: string;
  readonly more?: object;
}

function standing(status: string, rolloutState: string, given: Given = {}): Standing {
  const { code, message = "so it is", isRetried = false, failedOf, more } = given;
  const error = code === undefined ? null : { code, message, hint: null };
  const item = { id: "dep_1", platform: "kubernetes", desiredReleaseId: "rel_new", status, rolloutState, error };
  const record = { ...item, lastHeartbeatAt: NOW.toISOString(), ...more } as unknown as ReleaseDeployment;
  return standingOf(record, RELEASE, { isRetried, failedOf });
}

test.each<readonly [string, string, Given, string]>([
  ["update-pending", "updated", {}, "updating"],
  ["waiting-for-machines", "updated", {}, "updating"],
  ["running", "updated", {}, "updated"],
  ["refresh-failed", "updated", {}, "refresh-failed"],
  ["delete-failed", "updated", {}, "delete-failed"],
  ["delete-failed", "pending", { more: { desiredReleaseId: null } }, "delete-failed"],
  ["deleting", "updated", {}, "deleting"],
  ["error", "pending", { more: { desiredReleaseId: null } }, "failed"],
  ["initial-setup-failed", "failed", { failedOf: "rel_old" }, "retry-needed"],
  ["initial-setup-failed", "failed", { failedOf: "rel_new" }, "failed"],
  ["initial-setup-failed", "failed", {}, "failed"],
  ["update-failed", "failed", { isRetried: true }, "pending"],
  ["running", "pending", { more: { platform: "aws", desiredReleaseId: null } }, "no-stack"],
  ["update-pending", "pending", {}, "pending"],
  ["delete-failed", "superseded", {}, "superseded"],
])("%s, %s with %j is %s", (status, state, given, watched) => {
  expect(standing(status, state, given).state).toBe(watched);
});

test.each([
  ["pending", "pending", "RUNNER_DISABLED", true],
  ["initial-setup", "updating", "APPROVAL_PENDING", true],
  ["update-pending", "updated", "APPROVAL_PENDING", true],
  ["preflights-failed", "failed", "SECRET_VALUES_REFUSED", false],
  ["update-pending", "pending", "SECRET_VALUES_REFUSED", false],
  ["waiting-for-machines", "updating", "MACHINES_NEEDED", false],
  ["pending", "pending", undefined, false],
])("%s, %s with %s waits for the customer: %s", (status, state, code, waits) => {
  expect(waitsForCustomer(standing(status, state, code === undefined ? {} : { code }))).toBe(waits);
});

test.each<readonly [string, string, Given, string]>([
  ["pending", "pending", {}, "not begun"],
  ["initial-setup", "updating", {}, "a window, a pause"],
  ["update-pending", "pending", {}, "a window, a pause"],
  ["update-pending", "updated", {}, "the same release is applied again; its plan"],
  ["update-pending", "updated", { code: "APPROVAL_PENDING" }, "the same release is applied again; APPROVAL_PENDING: "],
  ["update-pending", "pending", { code: "ROLLED_BACK" }, "not begun by its agent yet; the attempt before ended with"],
  ["update-failed", "failed", { isRetried: true, code: "ROLLED_BACK" }, "a retry is asked for; not begun by its agent"],
  [
    "initial-setup-failed",
    "failed",
    { failedOf: "rel_old", code: "ROLLOUT_DENIED" },
    "rel_old has failed: ROLLOUT_DENIED: so it is; this one begins with: sallyport deployments retry dep_1",
  ],
  ["refresh-failed", "updated", { code: "RESOURCE_DRIFT" }, "RESOURCE_DRIFT: so it is; ask the customer; a redeploy"],
  ["delete-failed", "updated", { code: "ROLLOUT_DENIED" }, "it is to be deleted, and is not updated any more; ROLLOUT"],
  ["running", "pinned-other", { more: { pinnedReleaseId: "rel_old" } }, "pinned to rel_old: it is updated when"],
  ["running", "pending", { more: { platform: "aws", desiredReleaseId: null } }, "nothing for the platform aws"],
])("%s, %s with %j says what helps", (status, state, given, words) => {
  expect(whyOf(standing(status, state, given), NOW)).toContain(words);
});

test("one that is worked on needs no words", () => {
  expect(whyOf(standing("updating", "updating"), NOW)).toBeNull();
});

test("a long message leaves room for what helps", () => {
  const given = { code: "PREFLIGHT_CHECKS_FAILED", message: "x".repeat(2_000) };
  const why = whyOf(standing("preflights-failed", "failed", given), NOW);
  expect(why).toMatch(
    /^PREFLIGHT_CHECKS_FAILED: x+…; mend the release, or retry once the cluster is mended; its setup [^;]+$/,
  );
  const id = `dep_${"a".repeat(28)}`;
  const other = standing("preflights-failed", "failed", { ...given, failedOf: `rel_${"b".repeat(28)}`, more: { id } });
  expect(whyOf(other, NOW)).toMatch(/: sallyport deployments retry dep_a+$/);
  for (const words of [why, whyOf(other, NOW)]) expect(words?.length).toBeLessThan(512);
});
