import { describe, expect, it } from "vitest";
import { SETUP_STATUSES } from "../../../../contract/managers/managers.ts";
import { type ManagerFacts, requireMove, setupStatusOf, statusOf } from "./state.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const MINUTE = 60_000;
const facts = (more: Partial<ManagerFacts>): ManagerFacts => ({
  setup_status: "active",
  setup_changed_at: ago(24 * 60 * MINUTE),
  status: "degraded",
  last_heartbeat_at: ago(0),
  ...more,
});

describe("what a reader sees of a manager", () => {
  it.each([
    ["heard of just now", { last_heartbeat_at: ago(0) }, "degraded"],
    ["at the last millisecond of three beats", { last_heartbeat_at: ago(180_000) }, "degraded"],
    ["one millisecond later", { last_heartbeat_at: ago(180_001) }, "unknown"],
    ["never heard of", { last_heartbeat_at: null }, "unknown"],
  ] as const)("%s it is %3$s", (_, more, status) => {
    expect(statusOf(facts(more), NOW)).toBe(status);
  });

  it.each([
    ["provisioning", ago(60 * MINUTE), null, "provisioning"],
    ["provisioning", ago(60 * MINUTE + 1), null, "failed"],
    ["provisioning", ago(180 * MINUTE), ago(60 * MINUTE), "provisioning"],
    ["provisioning", ago(180 * MINUTE), ago(60 * MINUTE + 1), "failed"],
    ["deleting", ago(180_000), null, "deleting"],
    ["deleting", ago(180_001), null, "deleted"],
    ["deleting", ago(60 * MINUTE), ago(1000), "deleting"],
    ["active", ago(60 * MINUTE), null, "active"],
    [null, ago(60 * MINUTE), null, null],
  ] as const)("%s since %s, last heard %s: %s", (stored, changed, heard, seen) => {
    const row = facts({ setup_status: stored, setup_changed_at: changed, last_heartbeat_at: heard });
    expect(setupStatusOf(row, NOW)).toBe(seen);
  });
});

it("every move that is not in the table is refused with the moves that are", () => {
  for (const from of SETUP_STATUSES) {
    const move = (): unknown => requireMove(facts({ setup_status: from }), [], "pending", NOW);
    expect(move).toThrow(expect.objectContaining({ code: "INVALID_STATE_TRANSITION" }));
  }
  expect(() => requireMove(facts({ setup_status: null }), SETUP_STATUSES, "deleting", NOW)).toThrow(/from system/);
});
