import { type Expression, type SqlBool, sql } from "kysely";
import type { Static } from "typebox";
import type { DeploymentListItem } from "../../../../contract/deployments/deployment.ts";
import type { deploymentRoutes } from "../../../../contract/deployments/deployments.ts";
import { contains } from "../../../database/contains.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { paged, readPage } from "../../../kernel/call/page.ts";
import { notFound } from "../../../kernel/errors.ts";
import { scopeOfPrincipal } from "../../../kernel/tenancy/principal.ts";
import { optionalProject } from "../../../kernel/tenancy/project-ref.ts";
import { groupsOf } from "../../deployment-groups/store.ts";
import { toListItem } from "./record.ts";
import { deploymentsOf, LISTED, type VisibleDeployment } from "./store.ts";

type Filters = Static<(typeof deploymentRoutes)["stats"]["query"]>;
type Include = NonNullable<Static<(typeof deploymentRoutes)["get"]["query"]>["include"]>;
type Context = Pick<Call, "db" | "principal">;

/** The deployments that the filters select (§24.2). @throws NOT_FOUND when the project or group is not visible. */
async function matching(call: Context, filters: Filters) {
  const { db, principal } = call;
  const project = await optionalProject(db, principal, filters.project);
  let found = deploymentsOf(db, principal);
  if (project !== undefined) found = found.where("d.project_id", "=", project.id);
  if (filters.deploymentGroup !== undefined) {
    found = found.where("d.deployment_group_id", "in", await groupIds(call, filters.deploymentGroup, project?.id));
  }
  if (filters.name !== undefined) found = found.where("d.name", "=", filters.name);
  if (filters.managerId !== undefined) found = found.where("d.manager_id", "=", filters.managerId);
  if (filters.purpose !== undefined) found = found.where("d.purpose", "=", filters.purpose);
  if (filters.environment !== undefined) found = found.where("d.platform", "in", filters.environment);
  const { search, status } = filters;
  if (search !== undefined) {
    const inGroup = await inGroupNamed(call, search, project?.id);
    found = found.where((eb) => eb.or([contains("d.name", search), inGroup, eb("d.id", "=", search)]));
  }
  return status === undefined ? found.where("d.status", "<>", "deleted") : found.where("d.status", "in", status);
}

/** The trigram index finds no shorter text. */
const TRIGRAM = 3;
/** Above this number of matching groups the query does not list their ids. */
const FEW_GROUPS = 1000;

/**
 * The condition for deployments in groups whose name contains the text. The groups are looked up first where the index
 * can find them: with a join, no index could answer "the deployment's name or its group's".
 */
async function inGroupNamed(
  { db, principal }: Context,
  text: string,
  projectId: string | undefined,
): Promise<Expression<SqlBool>> {
  const named = contains("g.name", text);
  if (text.length < TRIGRAM) return named;
  let groups = db.selectFrom("deployment_groups as g").select("g.id").where(named);
  groups = groups.where("g.workspace_id", "=", principal.workspaceId);
  if (projectId !== undefined) groups = groups.where("g.project_id", "=", projectId);
  const ids = (await groups.limit(FEW_GROUPS + 1).execute()).map(({ id }) => id);
  return ids.length > FEW_GROUPS ? named : sql<SqlBool>`d.deployment_group_id = any(${ids}::text[])`;
}

/** The groups with this id or name; several projects may use one name. A deployment's key finds only its own group. */
export async function groupIds(
  { db, principal }: Context,
  ref: string,
  projectId: string | undefined,
): Promise<string[]> {
  const own = deploymentsOf(db, principal).clearSelect().select("d.deployment_group_id");
  let groups =
    scopeOfPrincipal(principal).type === "deployment"
      ? db.selectFrom("deployment_groups as g").selectAll("g").where("g.id", "in", own)
      : groupsOf(db, principal);
  groups = groups.where((eb) => eb.or([eb("g.id", "=", ref), eb("g.name", "=", ref)]));
  if (projectId !== undefined) groups = groups.where("g.project_id", "=", projectId);
  const ids = (await groups.execute()).map(({ id }) => id);
  if (ids.length === 0) throw notFound("deployment group");
  return ids;
}

export async function listDeployments(
  call: Call<(typeof deploymentRoutes)["list"]>,
): Promise<{ items: DeploymentListItem[]; nextCursor: string | null }> {
  const { page, query } = call;
  const found = (await matching(call, query))
    .clearSelect()
    .select(LISTED.map((column) => `d.${column}` as const))
    .select(["g.name as group_name", "g.external_id as group_external_id", "p.name as project_name"])
    .$call(paged(page, "d.created_at", "d.id"));
  return readPage(
    page,
    found,
    (row) => ({ at: row.created_at, id: row.id }),
    async (rows) => {
      const details = await detailsOf(call, rows, query.include ?? []);
      return rows.map((row) => ({ ...toListItem(row, call), ...details(row) }));
    },
  );
}

/** Only observed: an operator that reports what another tool installed. */
const REMOTE_OPERATOR = sql<boolean>`(d.current_release_id is null and d.desired_release_id is null
  and d.operator_permission is not distinct from 'observe')`;

/** Counts the deployments that a list with the same filters shows. */
export async function deploymentStats(call: Context, filters: Filters) {
  const columns = ["d.status", "d.platform", "d.current_release_id", "d.pinned_release_id"] as const;
  const groups = await (await matching(call, filters))
    .clearSelect()
    .select([...columns, REMOTE_OPERATOR.as("remote"), sql<number>`count(*)::integer`.as("count")])
    .groupBy([...columns, REMOTE_OPERATOR])
    .execute();
  type Group = (typeof groups)[number];
  const countBy = (keyOf: (group: Group) => string | null): Record<string, number> => {
    const counts = new Map<string, number>();
    for (const group of groups) {
      const key = keyOf(group);
      if (key !== null) counts.set(key, (counts.get(key) ?? 0) + group.count);
    }
    return Object.fromEntries(counts);
  };
  const sum = (of: readonly Group[]) => of.reduce((all, { count }) => all + count, 0);
  const total = sum(groups);
  const remoteOperator = sum(groups.filter(({ remote }) => remote));
  return {
    total,
    byStatus: countBy(({ status }) => status),
    byPlatform: countBy(({ platform }) => platform),
    byCurrentRelease: countBy(({ current_release_id }) => current_release_id),
    byPinnedRelease: countBy(({ pinned_release_id }) => pinned_release_id),
    byOrigin: { framework: total - remoteOperator, remoteOperator },
  };
}

type Detailed = Pick<
  VisibleDeployment,
  "current_release_id" | "deployment_group_id" | "project_id" | "group_name" | "group_external_id" | "project_name"
>;

/** The fields that `include` adds. */
export async function detailsOf({ db }: Context, rows: readonly Detailed[], include: Include) {
  const releaseIds = include.includes("release") ? rows.flatMap((row) => row.current_release_id ?? []) : [];
  const releases = new Map(
    releaseIds.length === 0
      ? []
      : (
          await db
            .selectFrom("releases")
            .select(["id", "version", "git_metadata", "created_at"])
            .where("id", "in", releaseIds)
            .execute()
        ).map((r) => [r.id, r]),
  );
  return (row: Detailed) => {
    const release = releases.get(row.current_release_id ?? "");
    return {
      ...(include.includes("release") && {
        release:
          release === undefined
            ? null
            : {
                id: release.id,
                version: release.version,
                gitMetadata: release.git_metadata,
                createdAt: release.created_at.toISOString(),
              },
      }),
      ...(include.includes("deploymentGroup") && {
        deploymentGroup: { id: row.deployment_group_id, name: row.group_name, externalId: row.group_external_id },
      }),
      ...(include.includes("project") && { project: { id: row.project_id, name: row.project_name } }),
    };
  };
}
