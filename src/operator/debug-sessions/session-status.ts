import type { DebugSessionConditionType, DebugSessionReason } from "../../crds/conditions.ts";
import type { DebugCloseReason, DebugSession, DebugSessionStatus } from "../../crds/kinds/debug-session.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type Condition, timestamp, withCondition } from "../../kube/objects/conditions.ts";
import type { SessionRefusal } from "./session-gate.ts";

type Said = {
  [T in DebugSessionConditionType]: readonly [
    type: T,
    status: Condition["status"],
    reason: DebugSessionReason<T>,
    message: string,
  ];
}[DebugSessionConditionType];

/** What the operator writes: never `tunnel`, which is the tunnel's own. */
export type OperatorsPart = Omit<DebugSessionStatus, "tunnel">;

function next(session: DebugSession, fields: OperatorsPart, said: readonly Said[], now: Date): DebugSessionStatus {
  const observedGeneration = session.metadata.generation ?? 0;
  let conditions: readonly Condition[] = (session.status?.conditions ?? []) as readonly Condition[];
  for (const [type, status, reason, text] of said) {
    const message = lineWithoutCommands(text, 1_024);
    conditions = withCondition(conditions, { type, status, reason, message, observedGeneration }, now);
  }
  return { ...session.status, ...fields, observedGeneration, conditions: conditions.map((each) => ({ ...each })) };
}

export function conditionOf({ status }: DebugSession, type: DebugSessionConditionType): Condition | undefined {
  return status?.conditions?.find((each) => each.type === type) as Condition | undefined;
}

const NOT_ATTACHED: Said = ["Attached", "False", "NeverAttached", "no client has come yet"];
/** A tunnel may write only into a session that it has taken, so what keeps it from taking one is said here. */
const NOT_TAKEN: Said = [
  ...(["Attached", "False", "NeverAttached"] as const),
  "no tunnel has taken it yet: one that runs, and whose spool has room for its records, does so within 5 s",
];

export function refused(session: DebugSession, reason: SessionRefusal, message: string, now: Date): DebugSessionStatus {
  const closeReason: DebugCloseReason = session.spec.endedReason === undefined ? "refused" : "revoked";
  const fields = { state: "Refused", closedAt: timestamp(now), closeReason } as const;
  return next(session, fields, [["Authorized", "False", reason, message], NOT_ATTACHED], now);
}

/** Not decided yet: the reason is what it would be refused for. */
export function waiting(
  session: DebugSession,
  { reason, message }: { readonly reason: SessionRefusal; readonly message: string },
  missing: string | undefined,
  now: Date,
): DebugSessionStatus {
  return next(session, { state: "Pending" }, [["Authorized", "Unknown", reason, message], permitted(missing)], now);
}

function permitted(missing: string | undefined): Said {
  if (missing !== undefined) return ["Permitted", "False", "RuleMissing", missing];
  return ["Permitted", "True", "RightsComplete", "the operator has the rights that this session needs"];
}

/** The line is claimed; the account does not stand yet. */
export function opening(session: DebugSession, reason: "GrantMatched" | "PolicyAuto", now: Date): DebugSessionStatus {
  const message = reason === "GrantMatched" ? "a line of the approved plan" : "the customer's policy says auto";
  return next(
    session,
    { state: "Opening" },
    [["Authorized", "True", reason, message], permitted(undefined), NOT_ATTACHED],
    now,
  );
}

export function notReady(session: DebugSession, message: string, now: Date): DebugSessionStatus {
  return next(session, { state: "Opening" }, [["AccessReady", "False", "RuleMissing", message]], now);
}

export function opened(session: DebugSession, account: string, until: Date, now: Date): DebugSessionStatus {
  const fields = { state: "Open", account, openedAt: timestamp(now), until: timestamp(until) } as const;
  return next(session, fields, [ready(account), NOT_TAKEN], now);
}

export function closing(session: DebugSession, closeReason: DebugCloseReason, now: Date): DebugSessionStatus {
  return next(session, { state: "Closing", closeReason }, derived(session), now);
}

/** Bindings and account are gone: from then on the tunnel has a little time for its last word. */
export function tornDown(session: DebugSession, now: Date): DebugSessionStatus {
  const said: Said = ["AccessReady", "False", "TornDown", "its bindings and its account are gone"];
  return next(session, { state: "Closing" }, [...derived(session), said], now);
}

export function closed(session: DebugSession, now: Date): DebugSessionStatus {
  // A tunnel that has not said its last word by now is not there any more.
  const isTunnelAway = session.status?.tunnel !== undefined && session.status.tunnel.closed === undefined;
  return next(session, { state: "Closed", closedAt: timestamp(now) }, derived(session, isTunnelAway), now);
}

/** While it is open: who is there, and whether the record is kept, as the tunnel says. */
export function observed(
  session: DebugSession,
  isTunnelAway: boolean,
  missing: string | undefined,
  now: Date,
): DebugSessionStatus {
  return next(session, {}, [...derived(session, isTunnelAway), permitted(missing), access(session)], now);
}

/** What the tunnel saw of the account's rights since they were lent: a rule may be taken from the mode's role. */
function access({ status, spec }: DebugSession): Said {
  const { account = "", tunnel } = status ?? {};
  if (tunnel?.forbidden === undefined) return ready(account);
  const words = `the API server refuses ${tunnel.forbidden} to account ${account}: a rule of the role of mode ${spec.mode} is gone`;
  return ["AccessReady", "False", "RuleMissing", words];
}

function ready(account: string): Said {
  return ["AccessReady", "True", "Ready", `account ${account} has the rights of its mode`];
}

function derived({ status }: DebugSession, isTunnelAway = false): readonly Said[] {
  const tunnel = status?.tunnel;
  if (tunnel === undefined) return [NOT_TAKEN];
  const reason = tunnel.closed?.reason;
  const isAway = reason === "tunnel-lost" || reason === "agent";
  const attached: Said =
    reason !== undefined
      ? ["Attached", "False", isAway ? "TunnelAway" : "ClientAway", `the tunnel closed it: ${reason}`]
      : isTunnelAway
        ? ["Attached", "False", "TunnelAway", "the tunnel is silent"]
        : tunnel.attachedAt !== undefined
          ? ["Attached", "True", "Attached", "a client is attached"]
          : (tunnel.epoch ?? 0) > 0
            ? ["Attached", "False", "ClientAway", "the client is away"]
            : NOT_ATTACHED;
  if (reason === "audit-failed") return [attached, ["Audited", "False", "SinkFailed", "the record could not be kept"]];
  if (reason === "audit-mismatch") {
    const words = "the audit file is not the one that the tunnel told of: it was set aside in the tunnel's spool";
    return [attached, ["Audited", "False", "HeadMismatch", words]];
  }
  if (tunnel.audit === undefined) return [attached];
  return [attached, ["Audited", "True", "Durable", "each request is recorded before it is sent"]];
}
