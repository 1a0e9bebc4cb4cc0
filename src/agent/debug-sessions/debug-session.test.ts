import { describe, expect, test } from "vitest";
import type { DebugSession as SessionRecord } from "../../contract/debug-sessions/debug-sessions.ts";
import type { DebugSession, DebugSessionStatus } from "../../crds/kinds/debug-session.ts";
import { DEPLOYMENT, NAMESPACE, NOW } from "../testing/sample.ts";
import { decideSession, type NewSession, type SessionFacts } from "./debug-session.ts";
import { readListedSession } from "./listed-session.ts";

const SESSION = `dbg_${"S".repeat(28)}`;
const KEY = "k".repeat(43);
const access = {
  mode: "exec" as const,
  namespace: "shop",
  clientKey: KEY,
  ports: null,
  selector: "app=api",
  minutes: 30,
  reason: "500s since 14:02",
  accessRequestId: `ar_${"r".repeat(28)}`,
};
const record = (changes: object = {}): Partial<SessionRecord> => ({
  id: SESSION,
  deploymentId: DEPLOYMENT,
  owner: "jo@vendor.example",
  expiresAt: "2026-01-01T13:00:00.000Z",
  access,
  ...changes,
});
const listedAs = (changes: object = {}) => {
  const listed = readListedSession(record(changes), DEPLOYMENT);
  if (listed === undefined || listed === "none") throw new Error("the sample must be listed");
  return listed;
};
const facts = (changes: Partial<SessionFacts> = {}): SessionFacts => ({
  listed: undefined,
  accepted: true,
  enabled: true,
  session: undefined,
  deleted: undefined,
  answered: new Set(),
  ...changes,
});
const decided = (changes: Partial<SessionFacts>) => decideSession(SESSION, facts(changes), NAMESPACE, NOW);
const made = (): NewSession => {
  const [action] = decided({ listed: listedAs() });
  if (action?.do !== "create") throw new Error("the sample must be fit");
  return action.session;
};
function stored(status?: DebugSessionStatus, more: object = {}): DebugSession {
  const session = made();
  const metadata = {
    ...session.metadata,
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: NOW.toISOString(),
    ...more,
  };
  return { ...session, metadata, ...(status && { status }) };
}
const bodies = (changes: Partial<SessionFacts>): readonly unknown[] =>
  decided(changes).map((action) => (action.do === "report" ? action.body : action.do));

describe("a listed session", () => {
  test("becomes an object of its name, with what was asked for and no more", () => {
    expect(made()).toEqual({
      apiVersion: "sallyport.dev/v1alpha1",
      kind: "DebugSession",
      metadata: { name: `dbg-${"s".repeat(28)}`, namespace: NAMESPACE },
      spec: {
        sessionId: SESSION,
        deploymentId: DEPLOYMENT,
        grantName: `ar-${"r".repeat(28)}`,
        mode: "exec",
        namespace: "shop",
        selector: "app=api",
        owner: "jo@vendor.example",
        reason: "500s since 14:02",
        clientKey: KEY,
        expiresAt: "2026-01-01T13:00:00.000Z",
      },
    });
  });

  test("without an approval names no grant: the customer's policy decides", () => {
    const [action] = decided({ listed: listedAs({ access: { ...access, accessRequestId: null } }) });
    expect(action).toMatchObject({ do: "create" });
    expect(action?.do === "create" && "grantName" in action.session.spec).toBe(false);
  });

  test.each<readonly [string, Partial<SessionFacts>]>([
    ["of a deployment that the customer does not accept", { listed: listedAs(), accepted: false }],
    ["whose time is over", { listed: listedAs({ expiresAt: NOW.toISOString() }) }],
    ["that is in the cluster", { listed: listedAs(), session: stored() }],
  ])("%s is left alone", (_case, changes) => {
    expect(decided(changes)).toEqual([]);
  });

  const refusal = (message: string) => ({
    state: "failed",
    closeReason: "refused",
    error: { code: "SESSION_REFUSED", message, internal: false },
  });

  test.each<readonly [string, Partial<SessionFacts>, string]>([
    ["while debug sessions are off", { listed: listedAs(), enabled: false }, "debug sessions are off in this cluster"],
    [
      "with a text that cannot be shown",
      { listed: listedAs({ owner: "jo\u202e" }) },
      "owner: a character that cannot be shown",
    ],
    [
      "whose name another session has",
      { listed: listedAs(), session: { ...stored(), spec: { ...stored().spec, sessionId: SESSION.toLowerCase() } } },
      "another session has this one's name in the cluster",
    ],
  ])("%s is refused with words", (_case, changes, message) => {
    expect(bodies(changes)).toEqual([refusal(message)]);
  });

  test("with a key that is none is refused", () => {
    const [body] = bodies({ listed: listedAs({ access: { ...access, clientKey: "short" } }) });
    expect(body).toMatchObject({ state: "failed", error: { code: "SESSION_REFUSED" } });
  });

  test("of another deployment, without an id, or made by a manager itself is none of ours", () => {
    expect(readListedSession(record({ deploymentId: `dep_${"e".repeat(28)}` }), DEPLOYMENT)).toBeUndefined();
    expect(readListedSession(record({ id: "x" }), DEPLOYMENT)).toBeUndefined();
    expect(readListedSession(record({ access: null }), DEPLOYMENT)).toBe("none");
  });
});

describe("a session in the cluster", () => {
  const head = "a".repeat(64);
  const audit = { records: 3, head, at: "2026-01-01T12:00:00Z" };
  const closed = { reason: "idle", at: "2026-01-01T12:00:00Z" } as const;

  test.each<readonly [DebugSessionStatus["state"], DebugSessionStatus, readonly unknown[]]>([
    ["Pending", {}, []],
    ["Opening", {}, []],
    ["Open", {}, []],
    ["Closing", { closeReason: "idle" }, [{ state: "stopping", closeReason: "idle" }]],
    [
      "Closed",
      { closeReason: "idle", tunnel: { instance: "t", audit, closed } },
      [{ state: "stopping", closeReason: "idle" }, { state: "stopped", closeReason: "idle" }, { auditHead: head }],
    ],
    [
      "Closed",
      { closeReason: "idle", tunnel: { instance: "t", audit } },
      [
        { state: "stopping", closeReason: "idle" },
        { state: "stopped", closeReason: "idle" },
      ],
    ],
    ["Closed", {}, [{ state: "stopping" }, { state: "stopped" }]],
    [
      "Refused",
      {
        conditions: [
          {
            type: "Authorized",
            status: "False",
            reason: "NoGrant",
            message: "debug/logs needs an approved access grant",
          },
        ] as never,
      },
      [
        {
          state: "failed",
          closeReason: "refused",
          error: {
            code: "NO_GRANT",
            message: "the cluster refused the session (NoGrant): debug/logs needs an approved access grant",
            internal: false,
          },
        },
      ],
    ],
  ])("that is %s is told as %j says", (state, status, told) => {
    expect(bodies({ session: stored({ ...status, ...(state && { state }) }) })).toEqual(told);
  });

  test("that could not be opened for want of a right tells the reason, and not which right", () => {
    const conditions = [
      { type: "AccessReady", status: "False", reason: "RuleMissing", message: "no create on x" },
    ] as never;
    expect(bodies({ session: stored({ state: "Refused", conditions }) })).toMatchObject([
      { error: { code: "RULE_MISSING", message: "the cluster refused the session (RuleMissing)" } },
    ]);
  });

  test("is told once", () => {
    const session = stored({ state: "Closed", closeReason: "idle" });
    expect(bodies({ session, answered: new Set(["stopping"]) })).toEqual([{ state: "stopped", closeReason: "idle" }]);
    expect(bodies({ session, answered: new Set(["stopping", "stopped"]) })).toEqual([]);
  });

  test("that a person deleted is told as killed, and does not come back while the platform lists it", () => {
    const deleted = stored({ state: "Open", tunnel: { instance: "t", audit } });
    const told = [
      { state: "stopping", closeReason: "killed" },
      { state: "stopped", closeReason: "killed" },
    ];
    // The head that was last seen is of some seconds before: only the tunnel knows the last one, and tells it itself.
    expect(bodies({ listed: listedAs(), deleted })).toEqual(told);
    const ended = stored({ state: "Open", tunnel: { instance: "t", audit, closed: { ...closed, reason: "killed" } } });
    expect(bodies({ listed: listedAs(), deleted: ended })).toEqual([...told, { auditHead: head }]);
    expect(bodies({ session: stored({ state: "Open" }, { deletionTimestamp: NOW.toISOString() }) })).toEqual(told);
    expect(bodies({ listed: listedAs(), deleted, answered: new Set(["stopping", "stopped", "head"]) })).toEqual([]);
  });

  test("that ended and was cleaned up is told by its own reason", () => {
    const deleted = stored({ state: "Closed", closeReason: "expired" });
    expect(bodies({ deleted })).toContainEqual({ state: "stopped", closeReason: "expired" });
  });
});
