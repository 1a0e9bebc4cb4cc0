import type { PendingRequest } from "../../../contract/access-requests/access-relay.ts";
import type {
  AccessRequest,
  AccessRequestStatus,
  AccessRequestWithApproval,
  Execution,
  LineState,
} from "../../../contract/access-requests/access-requests.ts";
import type { Tier } from "../../../contract/operations/operations.ts";
import type { Actor } from "../../../contract/wire/actor.ts";
import { NAMESPACE, pastedLine, RESOURCE_PLURAL } from "../../../contract/wire/pasted-line.ts";
import { HUMAN_LINE } from "../../../contract/wire/schema.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { asOf } from "../commands/store.ts";
import { reasonWith, toAcceptedStale } from "../resources/stale-state.ts";

// Rows here are as of now (`asOf` in lifecycle.ts).

/** @param commands those of this request, in any order. */
export function toRecord(
  row: AccessRequestRow,
  commands: readonly CommandRow[],
  { principal, now }: Pick<Call, "principal" | "now">,
): AccessRequest {
  return {
    id: row.id,
    deploymentId: row.deployment_id,
    remediationPlanId: row.remediation_plan_id,
    title: row.title,
    reason: row.reason,
    commands: row.commands,
    status: row.status,
    risk: row.risk,
    planHash: row.plan_hash,
    maxMinutes: row.max_minutes,
    debug: row.debug,
    decideBefore: row.decide_before.toISOString(),
    approvedUntil: row.approved_until?.toISOString() ?? null,
    decision: row.decisions.at(-1) ?? null,
    materialized: row.materialized,
    queuedBy: row.queued_by,
    queuedAt: row.queued_at?.toISOString() ?? null,
    acceptedStale: toAcceptedStale(row.stale_since, row.queued_at),
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    execution: executionOf(row, commands, principal, now),
  };
}

export function withApproval(record: AccessRequest): AccessRequestWithApproval {
  return { ...record, kubectlApprove: kubectlApprove(record) };
}

/** The state of a line is that of its command. A line without a command waits, or will never get one. */
function executionOf(
  row: AccessRequestRow,
  commands: readonly CommandRow[],
  principal: Principal,
  now: Date,
): Execution {
  const over = row.status === "rejected" || row.status === "expired" || row.execution === "failed";
  const absent: LineState = over ? "SKIPPED" : "WAITING";
  const lines = row.commands.map(({ command }, index): Execution["commands"][number] => {
    const stored = commands.find(({ plan_index }) => plan_index === index);
    if (stored === undefined) return { index, command, commandId: null, state: absent, completedAt: null, error: null };
    const { id, state, completed_at, ...ended } = asOf(stored, now);
    const error = shown(ended.error, principal);
    return { index, command, commandId: id, state, completedAt: completed_at?.toISOString() ?? null, error };
  });
  return { state: row.execution, commands: lines };
}

/** The request as the manager writes it into the cluster. */
export function toPending(row: AccessRequestRow): PendingRequest {
  return {
    id: row.id,
    title: row.title,
    reason: reasonWith(row.reason, toAcceptedStale(row.stale_since, row.queued_at)),
    commands: row.commands,
    risk: row.risk,
    planHash: row.plan_hash,
    maxMinutes: row.max_minutes,
    decideBefore: row.decide_before.toISOString(),
    debug: row.debug,
    requestedBy: displayName(row.created_by),
    createdAt: row.created_at.toISOString(),
  };
}

const READABLE = new RegExp(HUMAN_LINE, "u");
/** The limit of the custom resource. */
const MAX_NAME = 256;

/** A user's address. A key is shown by its id, which cannot be mistaken for a user's address. */
function displayName({ id, email }: Actor): string {
  return email !== null && email.length <= MAX_NAME && READABLE.test(email) ? email : id;
}

/** The duration in the suggested command. The approver may type another one, up to the request's own limit. */
const SUGGESTED_MINUTES = 60;

/** The name of the request's grant in the cluster, which admission enforces there. */
export function grantName(requestId: string): string {
  return requestId.toLowerCase().replaceAll("_", "-");
}

export interface Approvable {
  readonly status: AccessRequestStatus;
  readonly risk: Tier;
  readonly planHash: string;
  readonly maxMinutes: number;
  readonly materialized: { readonly namespace: string; readonly resourcePlural: string; readonly name: string } | null;
}

const isNamespace = new RegExp(NAMESPACE, "u");

const isPlural = new RegExp(RESOURCE_PLURAL, "u");

/**
 * The command with which the customer approves, or null when there is nothing to approve. It is only text for a person:
 * the platform has no credential that could run it. For a destructive plan it must contain the plan's hash. Null also
 * when a coordinate could be read by kubectl as something else, as in reports stored before the platform checked them.
 */
export function kubectlApprove({ status, risk, planHash, maxMinutes, materialized }: Approvable): string | null {
  if (status !== "queued" || materialized === null) return null;
  const minutes = Math.min(SUGGESTED_MINUTES, maxMinutes);
  const { namespace, resourcePlural, name } = materialized;
  if (!isNamespace.test(namespace) || !isPlural.test(resourcePlural)) return null;
  const line =
    risk === "destructive"
      ? pastedLine`kubectl patch ${resourcePlural} ${name} -n ${namespace} --type=merge -p '{"spec":{"approvedForMinutes":${minutes},"approvedPlanHash":"${planHash}"}}'`
      : pastedLine`kubectl patch ${resourcePlural} ${name} -n ${namespace} --type=merge -p '{"spec":{"approvedForMinutes":${minutes}}}'`;
  return line ?? null;
}
