import type { Selectable } from "kysely";
import { type SqlBool, sql } from "kysely";
import type { Manager } from "../../../contract/managers.ts";
import type { Db } from "../../database.ts";
import type { ManagerRow } from "../managers/store.ts";

type Platform = Manager["targets"][number];

/** The workspace's own managers and the system's that serve the platform. */
export function candidates(db: Db, workspaceId: string, platform: Platform): Promise<Selectable<ManagerRow>[]> {
  return db
    .selectFrom("managers as m")
    .selectAll("m")
    .where((eb) => eb.or([eb("m.workspace_id", "=", workspaceId), eb("m.is_system", "=", true)]))
    .where(sql<SqlBool>`${platform} = any(m.targets)`)
    .orderBy("m.id")
    .execute();
}

/** The one that the project names for the platform, if it is still one that the workspace may use. */
export function defaultManager(
  db: Db,
  project: { readonly id: string; readonly workspaceId: string },
  platform: Platform,
): Promise<Selectable<ManagerRow> | undefined> {
  return db
    .selectFrom("managers as m")
    .innerJoin("projects as p", (join) => join.on(sql<SqlBool>`p.default_managers ->> ${platform} = m.id`))
    .selectAll("m")
    .where("p.id", "=", project.id)
    .where((eb) => eb.or([eb("m.workspace_id", "=", project.workspaceId), eb("m.is_system", "=", true)]))
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
    .executeTakeFirst();
}
