import type { AccessRequest, Decision } from "../../../contract/access-requests/access-requests.ts";
import type { Actor } from "../../../contract/wire/actor.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { actorOf } from "../../kernel/tenancy/principal.ts";
import { requireManagerOf } from "../managers/record/store.ts";
import { staleSince } from "../resources/stale-state.ts";
import { asOf, stateOf, withState } from "./lifecycle.ts";
import { toRecord } from "./record.ts";
import { moved } from "./state.ts";
import { commandsOf, findRequest, updateRequest } from "./store.ts";

/**
 * The two moves of the vendor's engineer: queue and reject. A refused move does not change the row, even when time has
 * ended the request; the sweep stores that.
 */
type GateCall = Pick<Call, "db" | "now" | "principal" | "raise">;

/** The request as it is now. @throws NOT_FOUND */
export async function requireRequest(
  { db, principal, now }: Pick<Call, "db" | "now" | "principal">,
  id: string,
): Promise<AccessRequestRow> {
  const row = await findRequest(db, principal, id);
  if (row === undefined) throw notFound("access request");
  return asOf(row, now);
}

export async function recordOf(
  call: Pick<Call, "db" | "principal" | "now">,
  row: AccessRequestRow,
): Promise<AccessRequest> {
  const commands = await commandsOf(call.db, [row.id]);
  return toRecord(row, commands.get(row.id) ?? [], call);
}

/**
 * Queues the request for the decision in the customer's cluster.
 *
 * @throws INVALID_STATE_TRANSITION
 * @throws RESOURCE_STATE_STALE for a destructive plan, unless the caller accepts it.
 */
export async function queue(call: GateCall, id: string, acceptStale?: boolean): Promise<AccessRequestRow> {
  const row = await requireRequest(call, id);
  const next = moved(stateOf(row), "queue", call.now);
  await requireManagerOf(call.db, row.deployment_id);
  const queued = {
    ...withState(row, next, undefined, call.now),
    queued_by: actorOf(call.principal),
    queued_at: call.now,
    stale_since: await staleSince(call, row.deployment_id, row.risk, acceptStale),
  };
  await updateRequest(call.db, queued);
  await call.raise("access-requests", row.deployment_id);
  return queued;
}

/** The engineer withdraws the request before the customer has decided. @throws INVALID_STATE_TRANSITION */
export async function reject(call: GateCall, id: string, reason: string | undefined): Promise<AccessRequestRow> {
  const row = await requireRequest(call, id);
  const next = moved(stateOf(row), "reject", call.now);
  const decision: Decision = {
    outcome: "denied",
    by: nameOf(actorOf(call.principal)),
    reason: reason ?? null,
    at: call.now.toISOString(),
    approvedUntil: null,
    identity: "verified",
  };
  const rejected = withState(row, next, decision, call.now);
  await updateRequest(call.db, rejected);
  await call.raise("access-requests", row.deployment_id);
  return rejected;
}

function nameOf({ email, id }: Actor): string {
  return email ?? id;
}
