import { type SqlBool, sql } from "kysely";
import { TOPICS } from "../../../../contract/managers/managers.ts";
import type { Db } from "../../../database/db.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Call, ChangeCall } from "../../../kernel/call/call.ts";
import { HIDDEN_WORKSPACE } from "../../../kernel/tenancy/hidden.ts";
import { actorOf, type Principal } from "../../../kernel/tenancy/principal.ts";
import { servesDeployment } from "../../../kernel/tenancy/serves.ts";
import { updateDeployment } from "../read/store.ts";
import { FREE } from "./lease.ts";
import { managerFor } from "./manager.ts";

// A deployment waits while no manager serves its group. A new one gets the first manager that serves it. A deployment
// that had a manager gets only that one back, because moving a deployment to another manager is an admin's decision.
// When an admin deletes that manager, the deployment waits like a new one.

/** The setting that changes; the closed list of event types has none for managers alone (§13.1). */
const CHANGED = { type: "DeploymentEnvironmentUpdated", keys: { changedKeys: ["managerId"] } } as const;

/** Writes the event that the deployment waits. */
export async function tellWaiting(
  call: Pick<Call, "emit">,
  row: Pick<DeploymentRow, "id" | "project_id" | "platform" | "previous_manager_id">,
): Promise<void> {
  const { id: deploymentId, project_id: projectId, platform, previous_manager_id: previousManagerId } = row;
  const data = {
    ...CHANGED.keys,
    ...{ deploymentId, platform, waitsFor: "manager" },
    ...(previousManagerId !== null && { previousManagerId }),
  };
  await call.emit({ type: CHANGED.type, projectId, deploymentId, data });
}

/** Gives the deployment to a manager. Ends the former manager's lease and debug sessions, and notifies both managers. */
export async function handOver(
  call: ChangeCall,
  row: DeploymentRow,
  managerId: string,
  by?: Principal,
): Promise<DeploymentRow> {
  const previousManagerId = row.manager_id ?? row.previous_manager_id;
  const set = { manager_id: managerId, previous_manager_id: null, ...FREE, updated_at: call.now };
  const stored = await updateDeployment(call.db, row.id, set);
  const data = {
    ...CHANGED.keys,
    deploymentId: row.id,
    managerId,
    ...(previousManagerId !== null && { previousManagerId }),
    ...(by !== undefined && { actor: actorOf(by) }),
  };
  const { project_id: projectId, id: deploymentId } = row;
  await call.emit({ type: CHANGED.type, projectId, deploymentId, data });
  if (row.manager_id !== null) {
    for (const hook of call.hooks.deploymentTaken) await hook(call, row);
    await call.raise("deployments", row.id, row.manager_id);
  }
  // Everything open on the deployment is new to this manager, so raise all topics.
  for (const topic of TOPICS) await call.raise(topic, row.id);
  return stored;
}

/** Deployments in one transaction; the sweep handles the rest. */
export const AT_ONCE = 100;

/**
 * Deployments whose manager does not serve them. Those with an open debug session come first, because the session
 * continues until it is stopped; the manager cannot reach anything else of them (kernel/tenancy/serves.ts).
 * @param managerId default: any
 */
export async function unserved(db: Db, managerId?: string): Promise<readonly string[]> {
  const only = managerId === undefined ? sql`true` : sql`d.manager_id = ${managerId}`;
  const { rows } = await sql<{ id: string }>`
    select d.id from deployments d
    where ${only} and d.manager_id is not null and d.status <> 'deleted' and d.workspace_id <> ${HIDDEN_WORKSPACE}
      and not exists (select from managers as m where m.id = d.manager_id and ${servesDeployment})
    order by exists (
      select from debug_sessions s where s.deployment_id = d.id and s.state in ('pending', 'running')) desc, d.id
    limit ${AT_ONCE}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Takes the deployments from their managers, unless they are served again by now. @param ids of `unserved` */
export async function takeFrom(call: ChangeCall, ids: readonly string[]): Promise<void> {
  const taken = await call.db
    .updateTable("deployments as d")
    .set((eb) => ({ manager_id: null, previous_manager_id: eb.ref("d.manager_id"), ...FREE, updated_at: call.now }))
    .where(sql<SqlBool>`d.id = any(${ids}::text[])`)
    .where("d.manager_id", "is not", null)
    .where("d.status", "<>", "deleted")
    .where(sql<SqlBool>`not exists (select from managers as m where m.id = d.manager_id and ${servesDeployment})`)
    .returning(["d.id", "d.project_id", "d.platform", "d.previous_manager_id"])
    .execute();
  for (const row of taken) {
    await tellWaiting(call, row);
    for (const hook of call.hooks.deploymentTaken) await hook(call, row);
    await call.raise("deployments", row.id, row.previous_manager_id ?? undefined);
  }
}

/**
 * Gives waiting deployments their managers, oldest first.
 * @param managerId a manager that has just begun to serve; default: all
 * @returns whether there may be more
 */
export async function giveWaiting(call: ChangeCall, managerId?: string): Promise<boolean> {
  const only = managerId === undefined ? sql`true` : sql`m.id = ${managerId}`;
  const rows = await call.db
    .selectFrom("deployments as d")
    .selectAll("d")
    .where("d.manager_id", "is", null)
    .where("d.status", "<>", "deleted")
    .where(
      sql<SqlBool>`exists (
        select from managers as m
        where ${servesDeployment} and d.platform = any(m.targets) and coalesce(m.setup_status, 'active') = 'active'
          and m.id = coalesce(d.previous_manager_id, m.id) and ${only})`,
    )
    .orderBy("d.created_at")
    .orderBy("d.id")
    .limit(AT_ONCE)
    .forUpdate()
    .skipLocked()
    .execute();
  let given = 0;
  for (const row of rows) {
    const found = row.previous_manager_id ?? (await managerFor(call, row));
    if (found === null) continue;
    await handOver(call, row, found);
    given += 1;
  }
  return given === AT_ONCE;
}
