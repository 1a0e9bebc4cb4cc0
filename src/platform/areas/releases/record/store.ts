import { type Expression, type SqlBool, sql } from "kysely";
import type { Db } from "../../../database/db.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../../database/tables/releases.ts";
import { type Principal, scopeOfPrincipal } from "../../../kernel/tenancy/principal.ts";
import { visible } from "../../../kernel/tenancy/scope.ts";

export function findRelease(db: Db, workspaceId: string, id: string): Promise<ReleaseRow | undefined> {
  const own = db.selectFrom("releases").selectAll().where("workspace_id", "=", workspaceId);
  return own.where("id", "=", id).executeTakeFirst();
}

export function findChannelRow(db: Db, projectId: string, name: string): Promise<ReleaseChannelRow | undefined> {
  return db
    .selectFrom("release_channels")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("name", "=", name)
    .executeTakeFirst();
}

/** Undefined when the project has no such channel; `release` is undefined while the channel is empty. */
export async function findChannel(
  db: Db,
  projectId: string,
  name: string,
): Promise<{ readonly release: ReleaseRow | undefined } | undefined> {
  const channel = await findChannelRow(db, projectId, name);
  if (channel === undefined) return undefined;
  const id = channel.current_release_id;
  return { release: id === null ? undefined : await findRelease(db, channel.workspace_id, id) };
}

/**
 * The releases that the caller may see, with their project's name.
 * @param place the table with the columns to filter: `c` when the caller joins their promotions
 */
export function releasesOf(db: Db, principal: Principal, place: "r" | "c" = "r") {
  return db
    .selectFrom("releases as r")
    .innerJoin("projects as p", "p.id", "r.project_id")
    .selectAll("r")
    .select("p.name as project_name")
    .where(inReach(principal, place));
}

export type VisibleRelease = Awaited<ReturnType<ReturnType<typeof releasesOf>["executeTakeFirstOrThrow"]>>;

/**
 * A group token sees all releases of its project, because the portal shows them. Keys of deployments and managers see
 * the releases of their deployments: the current, the desired and the pinned one, and the one that the followed channel
 * points at.
 */
function inReach(principal: Principal, place: "r" | "c"): Expression<SqlBool> {
  const scope = scopeOfPrincipal(principal);
  const bounds = { workspace: `${place}.workspace_id`, project: `${place}.project_id` };
  if (scope.type === "workspace" || scope.type === "project") return visible(principal, bounds);
  if (scope.type === "deployment-group") {
    return sql<SqlBool>`${sql.ref(bounds.workspace)} = ${principal.workspaceId} and ${sql.ref(bounds.project)} = ${scope.projectId}`;
  }
  const concerned = visible(principal, { workspace: "d.workspace_id", deployment: "d.id", served: "d" });
  return sql<SqlBool>`exists (
    select 1 from deployments d
    left join release_channels c on c.project_id = d.project_id and c.name = d.release_channel
    where ${concerned} and d.project_id = r.project_id and d.status <> 'deleted'
      and r.id in (d.current_release_id, d.desired_release_id, d.pinned_release_id, c.current_release_id)
  )`;
}

/** Channel names by the release that they point at, sorted. */
export async function channelsAt(db: Db, releaseIds: readonly string[]): Promise<ReadonlyMap<string, string[]>> {
  if (releaseIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("release_channels")
    .select(["name", "current_release_id"])
    .where("current_release_id", "in", releaseIds)
    .orderBy("name")
    .execute();
  const byRelease = Map.groupBy(rows, (row) => row.current_release_id ?? "");
  return new Map([...byRelease].map(([id, channels]) => [id, channels.map(({ name }) => name)]));
}
