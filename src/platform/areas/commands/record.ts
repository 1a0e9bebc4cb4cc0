import type { Command } from "../../../contract/operations/commands.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { toAcceptedStale } from "../resources/stale-state.ts";

/** The command for the manager that has just claimed it, with its payload. */
export function toClaimed(row: CommandRow, principal: Principal): Command {
  return { ...toCommand(row, principal), ...payloadOf(row) };
}

/** Only callers that could run the command may read this (§16.1). */
export function payloadOf(row: CommandRow): Pick<Command, "params" | "result"> {
  return { params: parsed(row.params), result: parsed(row.result) };
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

/** @param row as of now: see `asOf`. */
export function toCommand(row: CommandRow, principal: Principal): Command {
  return {
    id: row.id,
    deploymentId: row.deployment_id,
    projectId: row.project_id,
    workspaceId: row.workspace_id,
    name: row.name,
    state: row.state,
    deploymentModel: row.deployment_model,
    target: row.target,
    attempt: row.attempt,
    deadline: row.deadline?.toISOString() ?? null,
    requestSizeBytes: row.request_size_bytes,
    responseSizeBytes: row.response_size_bytes,
    createdAt: row.created_at.toISOString(),
    dispatchedAt: row.dispatched_at?.toISOString() ?? null,
    completedAt: row.completed_at?.toISOString() ?? null,
    error: shown(row.error, principal),
    accessRequestId: row.access_request_id,
    planIndex: row.plan_index,
    invokedBy: row.invoked_by,
    acceptedStale: toAcceptedStale(row.stale_since, row.created_at),
  };
}
