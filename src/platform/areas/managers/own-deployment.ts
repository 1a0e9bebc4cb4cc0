import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { ManagerRow } from "../../database/tables/managers.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalidTransition } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { HIDDEN_WORKSPACE } from "../../kernel/tenancy/hidden.ts";
import { changeByRequest } from "../deployments/lifecycle/change.ts";
import { FREE } from "../deployments/lifecycle/lease.ts";
import { canRetry, nextStatus } from "../deployments/lifecycle/status.ts";
import { stackSettingsOf } from "./setup/setup.ts";

// The deployment that a private manager runs as (§9). The manager reports it like any other, and no list shows it.

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks">;
type Owner = Pick<
  ManagerRow,
  "id" | "internal_project_id" | "internal_group_id" | "cloud" | "region" | "setup_method" | "network"
>;

/**
 * Set as the deletion time of the hidden workspace: lists of live workspaces leave it out, and no sweep ever deletes
 * it.
 */
const NEVER = new Date("9999-12-31T00:00:00Z");

/**
 * Creates the hidden project and group of the deployment. A trigger deletes them with the manager's row. Created here
 * and not with the manager, because a replica of an earlier version may have created the manager.
 */
async function makeHome(
  db: Db,
  managerId: string,
  home: { project_id: string; deployment_group_id: string },
  now: Date,
) {
  const { project_id, deployment_group_id } = home;
  const workspace_id = HIDDEN_WORKSPACE;
  await db
    .insertInto("workspaces")
    .values({ id: workspace_id, name: "hidden", is_system: false, created_at: now, deleted_at: NEVER })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  const name = managerId.replace("mgr_", "manager-");
  await db
    .insertInto("projects")
    .values({ id: project_id, workspace_id, name, enabled_capabilities: [], created_at: now })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  await db
    .insertInto("deployment_groups")
    .values({ id: deployment_group_id, workspace_id, project_id, name: "manager", max_deployments: 1, created_at: now })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
}

/** Creates the deployment, in status pending. */
export async function beginOwn(db: Db, manager: Owner, now: Date): Promise<string> {
  const { internal_project_id: project_id, internal_group_id: deployment_group_id, cloud } = manager;
  if (project_id === null || deployment_group_id === null || cloud === null) {
    throw new Error(`manager ${manager.id} was not made to be set up`);
  }
  await makeHome(db, manager.id, { project_id, deployment_group_id }, now);
  const id = newId("dep");
  await db
    .insertInto("deployments")
    .values({
      id,
      workspace_id: HIDDEN_WORKSPACE,
      project_id,
      deployment_group_id,
      manager_id: manager.id,
      name: "manager",
      platform: cloud,
      region: manager.region,
      purpose: "application",
      // The manager itself calls the platform on every cloud: no other manager could reach it.
      deployment_model: "pull",
      status: "pending",
      retry_requested: false,
      release_channel: "production",
      setup_method: manager.setup_method,
      stack_settings: json(stackSettingsOf(manager)),
      input_values: json({}),
      lease_confirmed: false,
      created_at: now,
      updated_at: now,
    })
    .execute();
  return id;
}

/** @throws INVALID_STATE_TRANSITION when only a new setup can repair it. */
export async function retryOwn(call: Context, deploymentId: string): Promise<void> {
  const row = await ownRow(call.db, deploymentId);
  if (row === undefined) return;
  if (canRetry(row.status)) await changeByRequest(call, row, { retry_requested: true, next_step_after: null });
  else if (row.status === "error") throw invalidTransition(row.status, "retry", []);
  // It is still working but has sent no report: the platform can only notify it.
  else await call.raise("deployments", row.id);
}

/** Deletes the deployment; called again, retries a failed delete. */
export async function deleteOwn(call: Context, deploymentId: string): Promise<void> {
  const row = await ownRow(call.db, deploymentId);
  if (row === undefined) return;
  const status = nextStatus(row.status, { by: "delete", action: "cleanup" });
  const set = { delete_action: "cleanup" as const, next_step_after: null };
  if (status !== undefined) await changeByRequest(call, row, { ...set, status, retry_requested: false });
  else if (canRetry(row.status)) await changeByRequest(call, row, { ...set, retry_requested: true });
}

/**
 * Marks the deployment as deleted without the manager: it no longer reports, or a new setup replaces it. It has no
 * other records to clean up.
 */
export async function forgetOwn(db: Db, managerId: string, now: Date): Promise<void> {
  await db
    .updateTable("deployments")
    .set({ status: "deleted", deleted_at: now, updated_at: now, retry_requested: false, ...FREE })
    .where("workspace_id", "=", HIDDEN_WORKSPACE)
    .where("manager_id", "=", managerId)
    .where("status", "<>", "deleted")
    .execute();
}

/**
 * Undefined when a replica of an earlier version made only the id and no deployment. The manager's own time limits then
 * end its setup or its deletion.
 */
function ownRow(db: Db, id: string): Promise<DeploymentRow | undefined> {
  return db.selectFrom("deployments").selectAll().where("id", "=", id).executeTakeFirst();
}
