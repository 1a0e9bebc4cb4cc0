import type { Selectable } from "kysely";
import { type SqlBool, sql } from "kysely";
import type { Manager } from "../../../../contract/managers/managers.ts";
import type { Db } from "../../../database/db.ts";
import type { ManagerRow } from "../../../database/tables/managers.ts";
import { serves, servesDeployment } from "../../../kernel/tenancy/serves.ts";

type Platform = Manager["targets"][number];

/** The customer for whom a manager is sought. */
export interface Customer {
  readonly workspaceId: string;
  readonly projectId: string;
  /** Null: the group is not known; only managers that serve every group of the project match. */
  readonly groupId: string | null;
}

/** Managers that serve the customer on the platform, oldest first. */
export function candidates(
  db: Db,
  { groupId, workspaceId }: Customer,
  platform: Platform,
): Promise<Selectable<ManagerRow>[]> {
  return db
    .selectFrom("managers as m")
    .selectAll("m")
    .where(serves(groupId, workspaceId))
    .where(sql<SqlBool>`${platform} = any(m.targets)`)
    .orderBy("m.created_at")
    .orderBy("m.id")
    .execute();
}

/** The project's default manager for the platform, if it serves the customer. */
export function defaultManager(
  db: Db,
  { groupId, projectId, workspaceId }: Customer,
  platform: Platform,
): Promise<Selectable<ManagerRow> | undefined> {
  return db
    .selectFrom("managers as m")
    .innerJoin("projects as p", (join) => join.on(sql<SqlBool>`p.default_managers ->> ${platform} = m.id`))
    .selectAll("m")
    .where("p.id", "=", projectId)
    .where(serves(groupId, workspaceId))
    .executeTakeFirst();
}

/** The deployment's current manager, if the platform is that of the deployment. */
export function assignedManager(
  db: Db,
  deploymentId: string,
  platform: Platform,
): Promise<Selectable<ManagerRow> | undefined> {
  return db
    .selectFrom("deployments as d")
    .innerJoin("managers as m", "m.id", "d.manager_id")
    .selectAll("m")
    .where("d.id", "=", deploymentId)
    .where("d.platform", "=", platform)
    .where(servesDeployment)
    .executeTakeFirst();
}
