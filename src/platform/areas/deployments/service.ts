import type { DeploymentStatus, UpdateOperation } from "../../../contract/deployments/deployment-state.ts";
import type { DeleteAction } from "../../../contract/deployments/deployments.ts";
import type { StackSettings } from "../../../contract/deployments/stack-settings.ts";
import { json } from "../../database/json.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { withoutNulls } from "../../kernel/without-nulls.ts";
import { followedRelease, requireDeployable } from "./create/releases.ts";
import { changeByRequest, targetColumns } from "./lifecycle/change.ts";
import { INSTEAD } from "./lifecycle/hints.ts";
import { servingManager } from "./lifecycle/manager.ts";
import { newRelease, wish } from "./lifecycle/new-release.ts";
import { canRetry, nextStatus } from "./lifecycle/status.ts";
import { retarget } from "./lifecycle/target.ts";
import { handOver } from "./lifecycle/waiting.ts";
import { getDeployment } from "./read/get.ts";
import { updateDeployment, type VisibleDeployment } from "./read/store.ts";
import { forgetResources, tellsHealth } from "./settings/heartbeats.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks">;

export interface DeploymentPatch {
  readonly name?: string;
  readonly managerId?: string;
  readonly stackSettings?: StackSettings;
}

export async function patchDeployment(call: Context, id: string, patch: DeploymentPatch): Promise<DeploymentRow> {
  const row = await getDeployment(call, id);
  if (row.status === "deleted") throw invalidTransition(row.status, row.status, []);
  await checkPatch(call, row, patch);
  const { name, managerId, stackSettings } = patch;
  const stored = await updateDeployment(call.db, id, {
    ...(name !== undefined && { name }),
    ...(stackSettings !== undefined && {
      stack_settings: json(withoutNulls(stackSettings)),
      deployment_model: stackSettings.deploymentModel ?? row.deployment_model,
    }),
    updated_at: call.now,
  });
  if (!tellsHealth(stored)) await forgetResources(call.db, id);
  if (managerId !== undefined && managerId !== row.manager_id) return handOver(call, stored, managerId, call.principal);
  await call.raise("deployments", id);
  return stored;
}

async function checkPatch(call: Context, row: VisibleDeployment, patch: DeploymentPatch): Promise<void> {
  if (patch.managerId !== undefined) await checkMove(call, row, patch.managerId);
  const early: readonly DeploymentStatus[] = ["pending", "preflights-failed"];
  if (patch.stackSettings !== undefined && !early.includes(row.status)) {
    throw invalidTransition(row.status, row.status, early);
  }
  if (patch.name === undefined || patch.name === row.name) return;
  const taken = await call.db
    .selectFrom("deployments")
    .select("id")
    .where("deployment_group_id", "=", row.deployment_group_id)
    .where("name", "=", patch.name)
    .where("status", "<>", "deleted")
    .executeTakeFirst();
  if (taken !== undefined) throw new PlatformError("NAME_TAKEN");
}

/** Only an admin may move a deployment to another manager, and only to one that serves the customer. */
async function checkMove(call: Context, row: VisibleDeployment, managerId: string): Promise<void> {
  if (call.principal.role !== "workspace.admin") {
    throw new PlatformError("FORBIDDEN", {
      message: "only a workspace admin moves a deployment to another manager",
      context: { requiredRoles: ["workspace.admin"] },
    });
  }
  if (managerId === row.manager_id) return;
  if ((await servingManager(call, row, managerId)) === undefined) throw notFound("manager");
}

const DELETE_MESSAGES: Readonly<Record<DeleteAction, string>> = {
  cleanup: "The deployment's resources will be removed.",
  detach: "The deployment will no longer be managed; its resources stay.",
  forget: "The deployment's record is gone; nothing in the environment was touched.",
};

/**
 * §24.4: repeating the same action is accepted, another action is refused while it runs; `forget` is always allowed.
 */
export async function deleteDeployment(
  call: Context,
  id: string,
  action: DeleteAction,
): Promise<{ action: DeleteAction; message: string }> {
  const row = await getDeployment(call, id);
  const answer = { action, message: DELETE_MESSAGES[action] };
  const status = nextStatus(row.status, { by: "delete", action });
  if (status === undefined) {
    if (row.delete_action === action) return answer;
    if (row.status === "deleted") throw invalidTransition(row.status, "delete-pending", []);
    throw new PlatformError("DELETE_CONFLICT");
  }
  const first = row.delete_action === null ? { type: "DeploymentDeletionRequested" as const, data: {} } : undefined;
  const set = { status, delete_action: action, retry_requested: false, next_step_after: null };
  await changeByRequest(call, row, set, first);
  return answer;
}

/** Marks the deployment for a retry. Its status changes when a manager acquires or reports it. */
export async function retryDeployment(call: Context, id: string): Promise<void> {
  const row = await getDeployment(call, id);
  if (!canRetry(row.status)) throw invalidTransition(row.status, "retry", [], INSTEAD[row.status]);
  const attemptedReleaseId = row.desired_release_id ?? row.current_release_id;
  // No attempt has failed there that could be made again: what is installed is applied anew, which is an update of its own.
  const isOfInstalled = row.status === "refresh-failed" && row.current_release_id !== null;
  const asked = isOfInstalled ? targetColumns(appliedAnew(call, row)) : { retry_requested: true };
  const set = { ...asked, next_step_after: null };
  const data = { attemptedReleaseId, previousError: row.error };
  await changeByRequest(call, row, set, { type: "DeploymentRetryRequested", data, withActor: true });
}

export async function redeployDeployment(call: Context, id: string): Promise<UpdateOperation> {
  const row = await getDeployment(call, id);
  // What has drifted is put right by the same release again.
  if (row.status !== "running" && row.status !== "refresh-failed") {
    throw invalidTransition(row.status, "update-pending", [], INSTEAD[row.status]);
  }
  const next = appliedAnew(call, row);
  const data = { releaseId: row.current_release_id };
  await changeByRequest(call, row, targetColumns(next), { type: "DeploymentRedeployRequested", data });
  return next.operation;
}

function appliedAnew(call: Context, row: DeploymentRow) {
  const next = retarget(row, wish(call, { reason: "redeploy" }));
  if (next?.operation == null) throw new Error("a running deployment takes a new target");
  return { ...next, operation: next.operation };
}

/** Null removes the pin: the deployment follows its channel again. */
export async function pinRelease(call: Context, id: string, releaseId: string | null): Promise<void> {
  const row = await getDeployment(call, id);
  const previousPinnedReleaseId = row.pinned_release_id;
  const release =
    releaseId === null
      ? await followedRelease(call, row, row.release_channel)
      : (await requireDeployable(call, row, releaseId)).id;
  const next = newRelease(call, row, release);
  if (next === undefined) throw invalidTransition(row.status, "update-pending", []);
  if (releaseId === previousPinnedReleaseId) return;
  const fact =
    releaseId === null
      ? { type: "DeploymentReleaseUnpinned" as const, data: { previousPinnedReleaseId } }
      : { type: "DeploymentReleasePinned" as const, data: { pinnedReleaseId: releaseId, previousPinnedReleaseId } };
  await changeByRequest(call, row, { ...targetColumns(next), pinned_release_id: releaseId }, fact);
}

/** Changes the channel. The target changes too, unless the deployment is pinned or a promotion would not change it. */
export async function setReleaseChannel(call: Context, id: string, channel: string): Promise<DeploymentRow> {
  const row = await getDeployment(call, id);
  const release = await followedRelease(call, row, channel);
  if (channel === row.release_channel) return row;
  const next = row.pinned_release_id === null ? newRelease(call, row, release) : undefined;
  const set = { ...targetColumns(next ?? row), release_channel: channel };
  const data = { channel, previousChannel: row.release_channel };
  return changeByRequest(call, row, set, { type: "DeploymentReleaseChannelChanged", data, withActor: true });
}
