import { expect, test } from "vitest";
import type { DebugCloseReason, DebugSession } from "../../crds/kinds/debug-session.ts";
import { closed, conditionOf, observed, opened } from "./session-status.ts";

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

test("an open session says whether a tunnel has taken it, from its first status on", () => {
  const pending = { metadata: { name: "dbg-a", uid: "u-1" }, status: {} } as unknown as DebugSession;
  const open = { ...pending, status: opened(pending, "debug-a", NOW, NOW) };
  expect(conditionOf(open, "Attached")?.message).toContain("no tunnel has taken it yet");
  // A second write right after the first would race with the tunnel's claim.
  expect(conditionOf({ ...open, status: observed(open, false, undefined, NOW) }, "Attached")).toEqual(
    conditionOf(open, "Attached"),
  );
  const taken = { ...open, status: { ...open.status, tunnel: { instance: "t", epoch: 0 } } } as DebugSession;
  const after = { ...taken, status: observed(taken, false, undefined, NOW) };
  expect(conditionOf(after, "Attached")).toMatchObject({ reason: "NeverAttached", message: "no client has come yet" });
});

test("what the API server refuses to the session's account is a missing rule, until it does not", () => {
  const tunnel = { instance: "t", forbidden: "create pods/exec" };
  const session = {
    ...{ metadata: { name: "dbg-a", uid: "u-1" }, spec: { mode: "exec" } },
    status: { state: "Open", account: "debug-a", tunnel },
  } as unknown as DebugSession;
  const lacking = { ...session, status: observed(session, false, undefined, NOW) } as DebugSession;
  expect(conditionOf(lacking, "AccessReady")).toMatchObject({
    ...{ status: "False", reason: "RuleMissing" },
    message: "the API server refuses create pods/exec to account debug-a: a rule of the role of mode exec is gone",
  });
  const given = { ...lacking, status: { ...lacking.status, tunnel: { instance: "t" } } } as DebugSession;
  const after = { ...given, status: observed(given, false, undefined, NOW) };
  expect(conditionOf(after, "AccessReady")).toMatchObject({ status: "True", reason: "Ready" });
});
