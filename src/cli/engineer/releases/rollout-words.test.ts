import { expect, test } from "vitest";
import type { ReleaseDeployment } from "../../../contract/releases/releases.ts";
import { waitsForCustomer, whyOf } from "./rollout-words.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

function deployment(status: string, rolloutState: string, code?: string, message = "so it is"): ReleaseDeployment {
  const error = code === undefined ? null : { code, message, hint: null };
  return { status, rolloutState, error, lastHeartbeatAt: NOW.toISOString() } as unknown as ReleaseDeployment;
}

test.each([
  ["pending", "pending", "RUNNER_DISABLED", true],
  ["initial-setup", "updating", "APPROVAL_PENDING", true],
  ["update-pending", "updated", "APPROVAL_PENDING", true],
  ["preflights-failed", "failed", "SECRET_VALUES_REFUSED", false],
  ["waiting-for-machines", "updating", "MACHINES_NEEDED", false],
  ["pending", "pending", undefined, false],
])("%s, %s with %s waits for the customer: %s", (status, state, code, waits) => {
  expect(waitsForCustomer(deployment(status, state, code))).toBe(waits);
});

test.each([
  ["pending", "pending", "not begun"],
  ["initial-setup", "updating", "a window, a pause"],
  ["update-pending", "pending", "a window, a pause"],
])("%s without an error says what may hold it", (status, state, words) => {
  expect(whyOf(deployment(status, state), NOW)).toContain(words);
  expect(whyOf(deployment("updating", "updating"), NOW)).toBeNull();
});

test("a long message leaves room for what helps", () => {
  const why = whyOf(deployment("preflights-failed", "failed", "PREFLIGHT_CHECKS_FAILED", "x".repeat(2_000)), NOW);
  expect(why).toMatch(/^PREFLIGHT_CHECKS_FAILED: x+…; mend the release, or retry once the cluster is mended$/);
  expect(why?.length).toBeLessThan(512);
});
