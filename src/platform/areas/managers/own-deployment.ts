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

// The deployment that a private manager runs as (§9): it is reported on like any other, and in no list.

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks">;
type Owner = Pick<
  ManagerRow,
  "id" | "internal_project_id" | "internal_group_id" | "cloud" | "region" | "setup_method" | "network"
>;

/** Later than any sweep's day: a workspace that was never alive is in no list of those that are. */
const NEVER = new Date("9999-12-31T00:00:00Z");

/**
 * Its group, in a project of its own. They go with the manager's row, by a trigger. Made here, not with the manager: that may
 * have been created by a replica of an earlier version.
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

/** A fresh one, pending. */
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
      // It calls out by itself, wherever it runs: nobody is there to push.
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

/** @throws INVALID_STATE_TRANSITION when it can only be set up anew. */
export async function retryOwn(call: Context, deploymentId: string): Promise<void> {
  const row = await ownRow(call.db, deploymentId);
  if (row === undefined) return;
  if (canRetry(row.status)) await changeByRequest(call, row, { retry_requested: true, next_step_after: null });
  else if (row.status === "error") throw invalidTransition(row.status, "retry", []);
  // It is at work still, but was not heard of: a hint is all that can be given.
  else await call.raise("deployments", row.id);
}

/** Asked once more, it goes on where a delete has failed. */
export async function deleteOwn(call: Context, deploymentId: string): Promise<void> {
  const row = await ownRow(call.db, deploymentId);
  if (row === undefined) return;
  const status = nextStatus(row.status, { by: "delete", action: "cleanup" });
  const set = { delete_action: "cleanup" as const, next_step_after: null };
  if (status !== undefined) await changeByRequest(call, row, { ...set, status, retry_requested: false });
  else if (canRetry(row.status)) await changeByRequest(call, row, { ...set, retry_requested: true });
}

/** Without contact: the manager has gone silent, or is set up anew. Nothing else hangs on it. */
export async function forgetOwn(db: Db, managerId: string, now: Date): Promise<void> {
  await db
    .updateTable("deployments")
    .set({ status: "deleted", deleted_at: now, updated_at: now, retry_requested: false, ...FREE })
    .where("workspace_id", "=", HIDDEN_WORKSPACE)
    .where("manager_id", "=", managerId)
    .where("status", "<>", "deleted")
    .execute();
}

/** Undefined for an id alone, as a replica of an earlier version mints it: then time ends what it would have. */
function ownRow(db: Db, id: string): Promise<DeploymentRow | undefined> {
  return db.selectFrom("deployments").selectAll().where("id", "=", id).executeTakeFirst();
}
