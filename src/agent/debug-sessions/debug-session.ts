import type { debugSessionRoutes } from "../../contract/debug-sessions/debug-sessions.ts";
import type { BodyOf } from "../../contract/wire/route.ts";
import { GROUP, objectName, VERSION } from "../../crds/group.ts";
import { DEBUG_SESSION, type DebugSession, type DebugSessionSpec } from "../../crds/kinds/debug-session.ts";
import { MAX_API_ERROR, printable } from "../../crds/printable.ts";
import type { AskedSession, ListedSession } from "./listed-session.ts";

/** All that is known of one debug session. */
export interface SessionFacts {
  /** As the platform lists it; undefined: it does not wait for this cluster (any more). */
  readonly listed: ListedSession | undefined;
  /** The customer accepts its deployment. */
  readonly accepted: boolean;
  /** Debug sessions are on in this cluster. */
  readonly enabled: boolean;
  /** The object of its name, whose it may not be. */
  readonly session: DebugSession | undefined;
  /** The last state of a session that was deleted while we watched. */
  readonly deleted: DebugSession | undefined;
  /** Keys of the reports that the platform has answered; empty after a restart, which only repeats them. */
  readonly answered: ReadonlySet<string>;
}

export type NewSession = Omit<DebugSession, "metadata" | "status"> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};

type PatchBody = BodyOf<(typeof debugSessionRoutes)["patch"]>;

/** One report about a session, which must reach the platform at least once. `key` names it in `answered`. */
export interface SessionReport {
  readonly do: "report";
  readonly key: "failed" | "stopping" | "stopped" | "head";
  readonly id: string;
  readonly body: PatchBody;
}

export type SessionAction = { readonly do: "create"; readonly session: NewSession } | SessionReport;

const OFF = "debug sessions are off in this cluster";
const OTHER = "another session has this one's name in the cluster";
/** Longest word of a condition that becomes a code. */
const MAX_CODE = 128;

/**
 * What has to happen for this session at `now`. Pure.
 *
 * The promises: no object for a deployment that the customer does not accept; one object a session, and none after this
 * process saw the customer delete it; an object is never changed; its end is reported until the platform has answered.
 * A deletion while the agent is away is seen by nothing: a session that the platform still lists as pending is made
 * again, and the operator decides on it anew.
 *
 * @param id of the session.
 */
export function decideSession(
  id: string,
  facts: SessionFacts,
  grantsNamespace: string,
  now: Date,
): readonly SessionAction[] {
  const { listed, accepted, session, deleted, answered } = facts;
  const own = session?.spec.sessionId === id ? session : undefined;
  const actions: SessionAction[] = [];
  if (listed !== undefined && accepted && own === undefined && deleted === undefined) {
    actions.push(...raise(listed, facts, grantsNamespace, now));
  }
  if (own !== undefined) actions.push(...endOf(own, own.metadata.deletionTimestamp !== undefined));
  else if (deleted !== undefined) actions.push(...endOf(deleted, true));
  return actions.filter((action) => action.do === "create" || !answered.has(action.key));
}

/** Nothing of it in the cluster yet: it becomes an object, or is refused. */
function raise(
  { id, deploymentId, wanted }: ListedSession,
  { enabled, session }: SessionFacts,
  namespace: string,
  now: Date,
): readonly SessionAction[] {
  if (!enabled) return [refuse(id, OFF)];
  if (!wanted.fit) return [refuse(id, wanted.problem)];
  if (session !== undefined) return [refuse(id, OTHER)];
  // Too late to open; the platform ends it by itself.
  if (Date.parse(wanted.asked.expiresAt) <= now.getTime()) return [];
  return [{ do: "create", session: objectOf(id, deploymentId, wanted.asked, namespace) }];
}

/** The cluster's own answer to a session that it does not take. */
export function refuse(id: string, problem: string): SessionReport {
  const error = { code: "SESSION_REFUSED", message: problem, internal: false };
  return { do: "report", key: "failed", id, body: { state: "failed", closeReason: "refused", error } };
}

/**
 * Reports that must have reached the platform by now, in order: it takes no `stopped` from a session that is not
 * stopping. What it has ended by itself it keeps, and the head of the audit alone is new to it.
 */
function endOf({ spec: { sessionId: id }, status = {} }: DebugSession, gone: boolean): readonly SessionReport[] {
  const { state, tunnel } = status;
  if (state === "Refused") return [refused(id, status)];
  const isOver = state === "Closed" || gone;
  if (state !== "Closing" && !isOver) return [];
  // Deleting a session is how a person ends it at once.
  const closeReason = status.closeReason ?? tunnel?.closed?.reason ?? (gone ? "killed" : undefined);
  const why = closeReason === undefined ? {} : { closeReason };
  const report = (key: SessionReport["key"], body: PatchBody): SessionReport => ({ do: "report", key, id, body });
  const stopping = report("stopping", { state: "stopping", ...why });
  if (!isOver) return [stopping];
  // A status without the tunnel's last word has the head of some seconds ago, and the platform keeps what comes last.
  const head = tunnel?.closed === undefined ? undefined : tunnel.audit?.head;
  return [
    stopping,
    report("stopped", { state: "stopped", ...why }),
    ...(head === undefined ? [] : [report("head", { auditHead: head })]),
  ];
}

/**
 * The reason's word is the code. Why the operator's gate says no is told in its own words; which right is missing stays
 * in the cluster.
 */
function refused(id: string, { conditions = [] }: NonNullable<DebugSession["status"]>): SessionReport {
  const saysNo = (type: string) => conditions.find((each) => each.type === type && each.status === "False");
  const gate = saysNo("Authorized");
  const reason = (gate ?? saysNo("AccessReady"))?.reason ?? "Refused";
  const words = gate?.message ? `: ${printable(gate.message, MAX_API_ERROR)}` : "";
  const code = reason
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .toUpperCase()
    .slice(0, MAX_CODE);
  const error = { code, message: `the cluster refused the session (${reason})${words}`, internal: false };
  return { do: "report", key: "failed", id, body: { state: "failed", closeReason: "refused", error } };
}

function objectOf(id: string, deploymentId: string, asked: AskedSession, namespace: string): NewSession {
  const { owner, expiresAt, access } = asked;
  const { mode, namespace: where, clientKey, ports, selector, reason, accessRequestId } = access;
  const spec: DebugSessionSpec = {
    sessionId: id,
    deploymentId,
    ...(accessRequestId === null ? {} : { grantName: objectName(accessRequestId) }),
    mode,
    namespace: where,
    ...(selector === null ? {} : { selector }),
    ...(ports === null ? {} : { ports }),
    owner: owner ?? "",
    reason,
    clientKey,
    expiresAt,
  };
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: DEBUG_SESSION.kind,
    metadata: { name: objectName(id), namespace },
    spec,
  };
}
