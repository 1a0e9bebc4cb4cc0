import { type Expression, type Selectable, type SqlBool, sql } from "kysely";
import type { Manager } from "../../../../contract/managers/managers.ts";
import type { Db } from "../../../database/db.ts";
import type { ManagerRow } from "../../../database/tables/managers.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../../kernel/errors.ts";
import { type Principal, scopeOfPrincipal } from "../../../kernel/tenancy/principal.ts";
import { serves, servesDeployment } from "../../../kernel/tenancy/serves.ts";
import { isSilent, setupStatusOf, statusOf } from "./state.ts";

/**
 * The managers that a caller sees: those of its workspace and the system's. For a manager's key, only that manager; for
 * a group's key, those that serve the group.
 */
function reachable(principal: Principal): Expression<SqlBool> {
  const scope = scopeOfPrincipal(principal);
  if (scope.type === "manager") return sql<SqlBool>`m.id = ${scope.managerId}`;
  if (scope.type === "deployment-group") return serves(scope.deploymentGroupId, principal.workspaceId);
  return sql<SqlBool>`(m.workspace_id = ${principal.workspaceId} or m.is_system)`;
}

/** Guarded by `case`, because a stored JSON null is not an object and cannot be expanded. */
const isDefaultOf = sql<SqlBool>`exists (
  select from jsonb_each_text(case when jsonb_typeof(p.default_managers) = 'object' then p.default_managers end) as e
  where e.value = m.id
)`;

/** Managers with the number of deployments and projects that use them, as far as those are of the caller's workspace. */
export function managersOf(db: Db, principal: Principal) {
  const everywhere = principal.kind === "serviceAccount" && principal.system;
  return db
    .selectFrom("managers as m")
    .selectAll("m")
    .select((eb) => [
      eb
        .selectFrom("deployments as d")
        .select((of) => of.fn.countAll<number>().as("count"))
        .whereRef("d.manager_id", "=", "m.id")
        .where("d.status", "<>", "deleted")
        .$if(!everywhere, (own) => own.where("d.workspace_id", "=", principal.workspaceId))
        .as("deployment_count"),
      eb
        .selectFrom("projects as p")
        .select((of) => of.fn.countAll<number>().as("count"))
        .where(isDefaultOf)
        .$if(!everywhere, (own) => own.where("p.workspace_id", "=", principal.workspaceId))
        .as("default_count"),
    ])
    .where(reachable(principal));
}

export type ReadManager = Awaited<ReturnType<ReturnType<typeof managersOf>["execute"]>>[number];

/** @throws NOT_FOUND */
export async function findManager(db: Db, principal: Principal, id: string): Promise<ReadManager> {
  const row = await managersOf(db, principal).where("m.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("manager");
  return row;
}

/** Only the record, without those numbers. @throws NOT_FOUND */
export async function requireManager(db: Db, principal: Principal, id: string): Promise<Selectable<ManagerRow>> {
  const found = db.selectFrom("managers as m").selectAll("m").where(reachable(principal)).where("m.id", "=", id);
  const row = await found.executeTakeFirst();
  if (row === undefined) throw notFound("manager");
  return row;
}

/** The manager of a deployment; undefined while it waits for one that serves its group. */
function managerOf(db: Db, deploymentId: string): Promise<Selectable<ManagerRow> | undefined> {
  return db
    .selectFrom("deployments as d")
    .innerJoin("managers as m", "m.id", "d.manager_id")
    .selectAll("m")
    .where("d.id", "=", deploymentId)
    .where(servesDeployment)
    .executeTakeFirst();
}

/** @throws DEPLOYMENT_HAS_NO_MANAGER while the deployment waits for one. */
export async function requireManagerOf(db: Db, deploymentId: string): Promise<Selectable<ManagerRow>> {
  const manager = await managerOf(db, deploymentId);
  if (manager === undefined) throw new PlatformError("DEPLOYMENT_HAS_NO_MANAGER");
  return manager;
}

/** @throws DEPLOYMENT_HAS_NO_MANAGER; MANAGER_UNAVAILABLE while its manager sends no heartbeats. */
export async function requireHeard({ db, now }: Pick<Call, "db" | "now">, deploymentId: string): Promise<void> {
  if (isSilent(await requireManagerOf(db, deploymentId), now)) throw new PlatformError("MANAGER_UNAVAILABLE");
}

/** Revokes runtime keys, setup tokens or both. */
export async function revokeManagerKeys(
  db: Db,
  managerId: string,
  which: "runtime" | "setup" | "both",
  now: Date,
): Promise<void> {
  await db
    .updateTable("api_keys")
    .set({ revoked_at: now })
    .where((eb) =>
      eb.or([
        ...(which === "setup" ? [] : [eb("manager_id", "=", managerId)]),
        ...(which === "runtime" ? [] : [eb("setup_manager_id", "=", managerId)]),
      ]),
    )
    .where("revoked_at", "is", null)
    .execute();
}

export function toManager(row: ReadManager, now: Date): Manager {
  return {
    ...describe(row, now),
    managedDeploymentCount: Number(row.deployment_count),
    defaultProjectCount: Number(row.default_count),
  };
}

function describe(row: Selectable<ManagerRow>, now: Date) {
  return {
    id: row.id,
    name: row.name,
    targets: row.targets,
    cloud: row.cloud,
    region: row.region,
    setupStatus: setupStatusOf(row, now),
    url: row.url,
    managementConfigs: row.management_configs,
    isSystem: row.is_system,
    workspaceId: row.workspace_id,
    deploymentGroupId: row.deployment_group_id,
    shared: row.shared,
    status: statusOf(row, now),
    version: row.version,
    metrics: row.metrics,
    lastHeartbeatAt: row.last_heartbeat_at?.toISOString() ?? null,
    logsDatabaseId: null,
    createdAt: row.created_at.toISOString(),
  };
}
