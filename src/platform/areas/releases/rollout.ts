import { type AliasedExpression, type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import {
  type ReleaseDeployment,
  ROLLOUT_STATES,
  type RolloutState,
  type releaseRoutes,
} from "../../../contract/releases/releases.ts";
import type { Database, Db } from "../../database/db.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { type PageRequest, pagedByName, toPage } from "../../kernel/call/page.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { groupIds } from "../deployments/read/list.ts";
import type { VisibleRelease } from "./record/store.ts";
import { JUDGED, tallies } from "./tallies.ts";

/**
 * The state of deployment `d` with regard to release `r` (§5.3); the first match applies. `d` follows channel `c`,
 * which points at release `n`. A pinned release comes before the channel's.
 */
const STATE: RawBuilder<RolloutState> = sql<RolloutState>`case
  when (d.desired_release_id = r.id or (d.current_release_id = r.id and d.desired_release_id is null))
    and d.status in ('preflights-failed', 'initial-setup-failed', 'provisioning-failed', 'update-failed', 'error')
    then 'failed'
  when d.current_release_id = r.id and d.desired_release_id is null then 'updated'
  when d.desired_release_id = r.id
    and d.status in ('initial-setup', 'provisioning', 'waiting-for-machines', 'updating') then 'updating'
  when d.desired_release_id = r.id
    or (coalesce(d.pinned_release_id, c.current_release_id) = r.id and d.current_release_id is distinct from r.id)
    then 'pending'
  when d.pinned_release_id is not null and d.pinned_release_id <> r.id then 'pinned-other'
  when d.pinned_release_id is null and n.created_at > r.created_at then 'superseded'
  else 'on-other'
end`;

/**
 * Joins releases with their project's deployments, or with its tallies, which have one row for all similar deployments.
 */
function towards<O>(db: Db, deployments: AliasedExpression<O, "d">) {
  return db
    .selectFrom("releases as r")
    .innerJoin(deployments, (join) => join.on(sql<boolean>`d.project_id = r.project_id`))
    .leftJoin("release_channels as c", (join) =>
      join.on(sql<boolean>`c.project_id = d.project_id and c.name = d.release_channel`),
    )
    .leftJoin("releases as n", "n.id", "c.current_release_id");
}

type DeploymentsCall = Call<(typeof releaseRoutes)["deployments"]>;

export async function rolloutOf(call: DeploymentsCall, release: VisibleRelease) {
  const { db, query, page } = call;
  const project = release.project_id;
  const groups = query.deploymentGroup === undefined ? undefined : await groupIds(call, query.deploymentGroup, project);
  const alike = groups === undefined ? tallies(db, [project]) : tallies(db, groups, sql`${project}::text`);
  const kinds = towards(db, alike.as("d")).where("r.id", "=", release.id);
  const counted = await kinds
    .select([STATE.as("state"), sql<number>`sum(d.count)`.as("count")])
    .groupBy(STATE)
    .execute();
  const counts = new Map(counted.map(({ state, count }) => [state, Number(count)]));
  const states = query.state;
  let all = db.selectFrom("deployments as d").where("d.status", "<>", "deleted");
  if (groups !== undefined) all = all.where("d.deployment_group_id", "in", groups);
  const standing =
    states === undefined
      ? towards(
          db,
          all
            .where("d.project_id", "=", project)
            .select(["d.id", "d.name", ...JUDGED])
            .as("d"),
        )
          .where("r.id", "=", release.id)
          .select(["d.id", STATE.as("state")])
          .$call(pagedByName(page, "d.name", "d.id"))
          .as("s")
      : firstOfKinds(
          db,
          page,
          all,
          kinds
            .where(STATE, "in", states)
            .select([...JUDGED.map((column) => `d.${column}` as const), STATE.as("state")])
            .as("k"),
        );
  const shown = db
    .selectFrom(standing)
    .innerJoin("deployments as d", "d.id", "s.id")
    .innerJoin("deployment_groups as g", "g.id", "d.deployment_group_id")
    .selectAll("d")
    .select(["s.state", "g.name as group_name", "g.external_id as group_external_id"])
    .orderBy(sql`d.name collate "C"`)
    .orderBy("d.id");
  // When no deployment is in these states, as usual for "failed", skip the query.
  const rows = states?.some((state) => counts.has(state)) === false ? [] : await shown.execute();
  const stateCounts = Object.fromEntries(ROLLOUT_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    RolloutState,
    number
  >;
  const toItem = (row: ShownRow): ReleaseDeployment => itemOf(row, release, call.principal);
  return { ...toPage(page, rows, (row) => ({ at: row.name, id: row.id }), toItem), stateCounts };
}

type ShownRow = DeploymentRow & {
  readonly state: RolloutState;
  readonly group_name: string;
  readonly group_external_id: string | null;
};

function itemOf(row: ShownRow, release: VisibleRelease, principal: Principal): ReleaseDeployment {
  const runs = row.current_release_id === release.id;
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    platform: row.platform,
    environmentInfo: row.environment_info,
    deploymentGroup: { id: row.deployment_group_id, name: row.group_name, externalId: row.group_external_id },
    currentReleaseId: row.current_release_id,
    desiredReleaseId: row.desired_release_id,
    pinnedReleaseId: row.pinned_release_id,
    lastHeartbeatAt: row.last_heartbeat_at?.toISOString() ?? null,
    rolloutState: row.state,
    releasedAt: runs ? (row.released_at?.toISOString() ?? null) : null,
    durationMs: runs && row.release_duration_ms !== null ? Number(row.release_duration_ms) : null,
    error: shown(row.error, principal),
  };
}

type Kind = Pick<DeploymentRow, (typeof JUDGED)[number]> & { readonly state: RolloutState };

/**
 * One page of the deployments of the given kinds. Reads only the first rows of each kind, so that a rare kind does not
 * make the database read all other deployments.
 */
function firstOfKinds(
  db: Db,
  page: PageRequest,
  deployments: SelectQueryBuilder<Database & { d: DeploymentRow }, "d", object>,
  kinds: AliasedExpression<Kind, "k">,
) {
  const classOf = (alias: string) =>
    sql`deployment_class(${sql.join(JUDGED.map((column) => sql.ref(`${alias}.${column}`)))})`;
  // The indexed class is a hash and could be equal for two kinds, so the columns are compared too. The `case` hides the
  // comparison from the planner, which would otherwise count the condition twice, expect few rows, and sort a whole
  // kind instead of reading its first rows from the index.
  const same = JUDGED.map((column) => sql`${sql.ref(`d.${column}`)} is not distinct from ${sql.ref(`k.${column}`)}`);
  const first = deployments
    .where(sql<boolean>`${classOf("d")} = ${classOf("k")}`)
    .where(sql<boolean>`case when ${sql.join(same, sql` and `)} then true else false end`)
    .select(["d.id", "d.name"])
    .$call(pagedByName(page, "d.name", "d.id"));
  return db
    .selectFrom(kinds)
    .innerJoinLateral(first.as("d"), (join) => join.onTrue())
    .select(["d.id", "k.state"])
    .$call(pagedByName({ ...page, after: undefined }, "d.name", "d.id"))
    .as("s");
}

export interface Rollout {
  readonly updatedCount: number;
  readonly pendingCount: number;
  readonly avgDurationMs: number | null;
}

/** The progress of each release, by id. Releases of projects without deployments have no entry. */
export async function rollouts(
  db: Db,
  releases: readonly Pick<VisibleRelease, "id" | "project_id">[],
): Promise<ReadonlyMap<string, Rollout>> {
  if (releases.length === 0) return new Map();
  const projects = [...new Set(releases.map((release) => release.project_id))];
  const rows = await towards(db, tallies(db, projects).as("d"))
    .where(
      "r.id",
      "in",
      releases.map(({ id }) => id),
    )
    .select([
      "r.id",
      sql<number | null>`sum(d.count) filter (where ${STATE} = 'updated')`.as("updated"),
      sql<number | null>`sum(d.count) filter (where ${STATE} in ('pending', 'updating'))`.as("pending"),
      sql<number | null>`(
        sum(d.duration) filter (where d.current_release_id = r.id)
        / nullif(sum(d.timed) filter (where d.current_release_id = r.id), 0)
      )::double precision`.as("duration"),
    ])
    .groupBy("r.id")
    .execute();
  return new Map(
    rows.map((row) => [
      row.id,
      { updatedCount: Number(row.updated), pendingCount: Number(row.pending), avgDurationMs: row.duration },
    ]),
  );
}
