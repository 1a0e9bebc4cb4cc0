import type { CommandTarget } from "../../../contract/operations/commands.ts";
import type { Actor } from "../../../contract/wire/actor.ts";
import { json } from "../../database/json.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { newId } from "../../kernel/ids.ts";

/** The target of operations. Only the platform itself may use it (§2.3, §2.6). */
export const OPERATOR_TARGET: CommandTarget = { resourceId: "operator", resourceType: "daemon" };

export interface NewCommand {
  readonly deployment: Pick<DeploymentRow, "id" | "workspace_id" | "project_id" | "deployment_model">;
  /** For operations `plugin/operation`. */
  readonly name: string;
  /** Any JSON value; undefined when there are none. The caller checks the size. */
  readonly params: unknown;
  readonly target: CommandTarget | null;
  readonly deadline: Date;
  readonly invokedBy: Actor | null;
  /** Since when the resources are stale, when the caller accepted that. */
  readonly staleSince?: Date | null;
  /** The line of a plan: unique together with the index, so a second call for the same line fails as a conflict. */
  readonly accessRequestId?: string;
  readonly planIndex?: number;
  readonly state?: "PENDING" | "PENDING_UPLOAD";
  readonly requestSizeBytes?: number;
  readonly idempotencyKey?: string;
}

/** Stores a command in the caller's transaction and notifies the deployment's manager. It checks nothing. */
export async function createCommand(
  call: Pick<Call, "db" | "now" | "raise">,
  command: NewCommand,
): Promise<CommandRow> {
  const { deployment } = command;
  const params = command.params === undefined ? null : JSON.stringify(command.params);
  const row = await call.db
    .insertInto("commands")
    .values({
      id: newId("cmd"),
      workspace_id: deployment.workspace_id,
      project_id: deployment.project_id,
      deployment_id: deployment.id,
      name: command.name,
      state: command.state ?? "PENDING",
      deployment_model: deployment.deployment_model,
      target: command.target === null ? null : json(command.target),
      attempt: null,
      deadline: command.deadline,
      request_size_bytes: command.requestSizeBytes ?? (params === null ? null : Buffer.byteLength(params)),
      response_size_bytes: null,
      created_at: call.now,
      dispatched_at: null,
      completed_at: null,
      error: null,
      access_request_id: command.accessRequestId ?? null,
      plan_index: command.planIndex ?? null,
      invoked_by: command.invokedBy === null ? null : json(command.invokedBy),
      stale_since: command.staleSince ?? null,
      params,
      result: null,
      idempotency_key: command.idempotencyKey ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await call.raise("commands", deployment.id);
  return row;
}
