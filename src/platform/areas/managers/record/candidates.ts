import type { Selectable } from "kysely";
import { type SqlBool, sql } from "kysely";
import type { Manager } from "../../../../contract/managers/managers.ts";
import type { Db } from "../../../database/db.ts";
import type { ManagerRow } from "../../../database/tables/managers.ts";
import { serves, servesDeployment } from "../../../kernel/tenancy/serves.ts";

type Platform = Manager["targets"][number];

/** For whom a manager is looked for. */
export interface Customer {
  readonly workspaceId: string;
  readonly projectId: string;
  /** Null: not known, and what every group of the project gets is looked for. */
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

/** The one that the project names for the platform, if it serves the customer. */
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

/** Whatever serves the deployment now, if the platform is the deployment's own. */
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
