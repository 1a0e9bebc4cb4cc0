import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import {
  type ReleaseDeployment,
  ROLLOUT_STATES,
  type RolloutState,
  type releaseRoutes,
} from "../../../contract/releases.ts";
import type { Database, Db } from "../../database.ts";
import type { Call } from "../../kernel/call.ts";
import { pagedByName, toPage } from "../../kernel/page.ts";
import { shownError } from "../../kernel/stored-error.ts";
import { groupIds } from "../deployments/list.ts";
import type { VisibleRelease } from "./store.ts";

/** What is read of a deployment to tell where it stands towards a release. */
const JUDGED = [
  "project_id",
  "status",
  "current_release_id",
  "desired_release_id",
  "pinned_release_id",
  "release_channel",
] as const;

/**
 * Where deployment `d` stands towards release `r` (§5.3), first match wins: `d` follows channel `c`, which points at
 * release `n`. The release that it ought to run is the pinned one before the channel's.
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

/** Deployments that are not `deleted`. */
function population(db: Db) {
  return db.selectFrom("deployments").where("status", "<>", "deleted");
}

/** The same, all that every release judges alike as one: few, however many deployments there are. */
function alike(deployments: ReturnType<typeof population>) {
  return deployments
    .select(JUDGED)
    .select((eb) => [
      eb.fn.countAll<number>().as("count"),
      eb.fn.count<number>("release_duration_ms").as("timed"),
      eb.fn.sum<number>("release_duration_ms").as("duration"),
    ])
    .groupBy(JUDGED);
}

/** Releases beside each of the `deployments` of their project. */
function towards<O>(db: Db, deployments: SelectQueryBuilder<Database, "deployments", O>) {
  return db
    .selectFrom("releases as r")
    .innerJoin(deployments.as("d"), (join) => join.on(sql<boolean>`d.project_id = r.project_id`))
    .leftJoin("release_channels as c", (join) =>
      join.on(sql<boolean>`c.project_id = d.project_id and c.name = d.release_channel`),
    )
    .leftJoin("releases as n", "n.id", "c.current_release_id");
}

type DeploymentsCall = Call<(typeof releaseRoutes)["deployments"]>;

export async function rolloutOf(call: DeploymentsCall, release: VisibleRelease) {
  const { db, query, page } = call;
  let all = population(db).where("project_id", "=", release.project_id);
  if (query.deploymentGroup !== undefined) {
    all = all.where("deployment_group_id", "in", await groupIds(call, query.deploymentGroup, release.project_id));
  }
  const counted = await towards(db, alike(all))
    .where("r.id", "=", release.id)
    .select([STATE.as("state"), sql<number>`sum(d.count)`.as("count")])
    .groupBy(STATE)
    .execute();
  const counts = new Map(counted.map(({ state, count }) => [state, Number(count)]));
  const states = query.state;
  // An index has all that this reads; the rows themselves are read for the page alone.
  const standing = towards(db, all.select(["id", "name", ...JUDGED]))
    .where("r.id", "=", release.id)
    .$if(states !== undefined, (some) => some.where(STATE, "in", states ?? []))
    .select(["d.id", STATE.as("state")])
    .$call(pagedByName(page, "d.name", "d.id"));
  const shown = db
    .selectFrom(standing.as("s"))
    .innerJoin("deployments as d", "d.id", "s.id")
    .innerJoin("deployment_groups as g", "g.id", "d.deployment_group_id")
    .selectAll("d")
    .select(["s.state", "g.name as group_name", "g.external_id as group_external_id"])
    .orderBy(sql`d.name collate "C"`)
    .orderBy("d.id");
  // Where none stands, as with "failed" most of the time, none need be looked for.
  const rows = (states ?? ROLLOUT_STATES).some((state) => counts.has(state)) ? await shown.execute() : [];
  const stateCounts = Object.fromEntries(ROLLOUT_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    RolloutState,
    number
  >;
  const toItem = (row: (typeof rows)[number]): ReleaseDeployment => {
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
      error: row.state === "failed" ? shownError(row.error, call.principal) : null,
    };
  };
  return { ...toPage(page, rows, (row) => ({ at: row.name, id: row.id }), toItem), stateCounts };
}

export interface Rollout {
  readonly updatedCount: number;
  readonly pendingCount: number;
  readonly avgDurationMs: number | null;
}

/** How far each release has come, by id; releases of projects without deployments are absent. */
export async function rollouts(db: Db, releaseIds: readonly string[]): Promise<ReadonlyMap<string, Rollout>> {
  if (releaseIds.length === 0) return new Map();
  const projects = db.selectFrom("releases").select("project_id").where("id", "in", releaseIds);
  const rows = await towards(db, alike(population(db).where("project_id", "in", projects)))
    .where("r.id", "in", releaseIds)
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
