import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { EXPIRES_AT_ANNOTATION } from "../../crds/group.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { Client } from "../../kube/client/client.ts";
import { resources } from "../../kube/objects/resource.ts";
import type { SessionAccess } from "../access/session-access.ts";
import type { OperatorMetrics } from "../kernel/metrics.ts";

export interface SessionSweepPorts {
  readonly client: Pick<Client, "delete">;
  readonly access: Pick<SessionAccess, "leftOvers">;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<OperatorMetrics, "removed">;
  /** From the cache. */
  readonly sessions: () => Iterable<DebugSession>;
  /** Namespaces in which a session may have had rights. */
  readonly places: () => readonly string[];
}

/**
 * Removes rights and accounts of sessions that are not open: of deleted ones, which no reconcile sees, and what a crash
 * left. A session is written as Opening, and seen so in the cache, before anything is made for it.
 */
export async function sweepSessions(ports: SessionSweepPorts, signal: AbortSignal): Promise<void> {
  const { client, access, fence, log, metrics, clock } = ports;
  const found = await access.leftOvers(ports.places(), signal);
  // After the list that it judges: what was opened in the meantime is not in that list.
  const living = livingSessions(ports.sessions());
  const now = clock.wallNow().getTime();
  for (const { kind, sessionUid, object } of found) {
    const { name, namespace, uid, annotations } = object.metadata;
    const isOver = kind === "RoleBinding" && !(now < Date.parse(annotations?.[EXPIRES_AT_ANNOTATION] ?? ""));
    if (living.has(sessionUid) && !isOver) continue;
    fence();
    const resource = kind === "RoleBinding" ? resources.roleBindings : resources.serviceAccounts;
    const key = { name, ...(namespace !== undefined && { namespace }) };
    if (!(await client.delete(resource, key, { preconditions: { uid } }, signal))) continue;
    metrics.removed(kind);
    log.info({ kind, namespace, name }, "left-over access of a debug session removed");
  }
}

function livingSessions(sessions: Iterable<DebugSession>): ReadonlySet<string> {
  const living = new Set<string>();
  for (const { metadata, status } of sessions) {
    const isOpen = status?.state === "Opening" || status?.state === "Open";
    if (isOpen && metadata.deletionTimestamp === undefined) living.add(metadata.uid);
  }
  return living;
}
