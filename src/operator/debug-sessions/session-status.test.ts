import { expect, test } from "vitest";
import type { DebugCloseReason, DebugSession } from "../../crds/kinds/debug-session.ts";
import { closed, conditionOf } from "./session-status.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const audit = { records: 2, head: "a".repeat(64), at: "2026-01-01T11:59:00Z" };

test.each<[DebugCloseReason, string, string]>([
  ["client", "True", "Durable"],
  ["audit-failed", "False", "SinkFailed"],
  ["audit-mismatch", "False", "HeadMismatch"],
])("a session that its tunnel closed with %s is Audited=%s, %s", (reason, status, word) => {
  const session = {
    metadata: { name: "dbg-a", uid: "u-1" },
    status: { tunnel: { instance: "t", audit, closed: { reason, at: "2026-01-01T11:59:00Z" } } },
  } as unknown as DebugSession;
  const after = { ...session, status: closed(session, NOW) };
  expect(conditionOf(after, "Audited")).toMatchObject({ status, reason: word });
});
