import { sql } from "kysely";
import type { Project } from "../../../contract/projects/projects.ts";
import type { Db } from "../../database/db.ts";

/** The number of deployments that are not `deleted`, by project. Projects without any have no entry. */
export async function deploymentCounts(db: Db, projectIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (projectIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("deployments")
    .select(["project_id", (eb) => eb.fn.countAll<number>().as("count")])
    .where("project_id", "in", projectIds)
    .where("status", "<>", "deleted")
    .groupBy("project_id")
    .execute();
  return new Map(rows.map(({ project_id, count }) => [project_id, Number(count)]));
}

export type LatestRelease = NonNullable<Project["latestRelease"]>;

/** The newest release of each project that has one. */
export async function latestReleases(
  db: Db,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, LatestRelease>> {
  if (projectIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("releases")
    .distinctOn("project_id")
    .select(["project_id", "id", "git_metadata", "created_at"])
    .where("project_id", "in", projectIds)
    .orderBy("project_id")
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .execute();
  return new Map(
    rows.map((row) => [
      row.project_id,
      { id: row.id, gitMetadata: row.git_metadata, createdAt: row.created_at.toISOString() },
    ]),
  );
}

/** The named managers that are live, visible to the workspace, and serve the platform asked of them. */
export async function servingManagers(
  db: Db,
  workspaceId: string,
  wanted: ReadonlyMap<string, string>,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("managers")
    .select(["id", "targets"])
    .where("id", "in", [...new Set(wanted.values())])
    .where((eb) => eb.or([eb("workspace_id", "=", workspaceId), eb("is_system", "=", true)]))
    .where(sql<boolean>`coalesce(setup_status, 'active') not in ('deleting', 'deleted')`)
    .execute();
  const targets = new Map(rows.map((row) => [row.id, row.targets]));
  return new Set(
    [...wanted]
      .filter(([platform, id]) => (targets.get(id) as readonly string[] | undefined)?.includes(platform))
      .map(([platform]) => platform),
  );
}
