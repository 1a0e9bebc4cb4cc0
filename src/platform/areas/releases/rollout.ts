import { type RawBuilder, sql } from "kysely";
import {
  type ReleaseDeployment,
  ROLLOUT_STATES,
  type RolloutState,
  type releaseRoutes,
} from "../../../contract/releases.ts";
import type { Db } from "../../database.ts";
import type { Call } from "../../kernel/call.ts";
import { pagedByName, toPage } from "../../kernel/page.ts";
import { shownError } from "../../kernel/stored-error.ts";
import { groupIds } from "../deployments/list.ts";
import type { VisibleRelease } from "./store.ts";

/**
 * Where deployment `d` stands towards release `r` (§5.3), first match wins: `d` follows channel `c`, and `e` is the
 * release that it ought to run, the pinned one before the channel's.
 */
const STATE: RawBuilder<RolloutState> = sql<RolloutState>`case
  when (d.desired_release_id = r.id or (d.current_release_id = r.id and d.desired_release_id is null))
    and d.status in ('preflights-failed', 'initial-setup-failed', 'provisioning-failed', 'update-failed', 'error')
    then 'failed'
  when d.current_release_id = r.id and d.desired_release_id is null then 'updated'
  when d.desired_release_id = r.id
    and d.status in ('initial-setup', 'provisioning', 'waiting-for-machines', 'updating') then 'updating'
  when d.desired_release_id = r.id or (e.id = r.id and d.current_release_id is distinct from r.id) then 'pending'
  when d.pinned_release_id is not null and d.pinned_release_id <> r.id then 'pinned-other'
  when e.created_at > r.created_at then 'superseded'
  else 'on-other'
end`;

/** Releases beside each deployment of their project that is not `deleted`. */
function population(db: Db) {
  return db
    .selectFrom("releases as r")
    .innerJoin("deployments as d", "d.project_id", "r.project_id")
    .innerJoin("deployment_groups as g", "g.id", "d.deployment_group_id")
    .leftJoin("release_channels as c", (join) =>
      join.onRef("c.project_id", "=", "d.project_id").onRef("c.name", "=", "d.release_channel"),
    )
    .leftJoin("releases as e", (join) =>
      join.on(sql<boolean>`e.id = coalesce(d.pinned_release_id, c.current_release_id)`),
    )
    .where("d.status", "<>", "deleted");
}

type DeploymentsCall = Call<(typeof releaseRoutes)["deployments"]>;

export async function rolloutOf(call: DeploymentsCall, release: VisibleRelease) {
  const { db, query, page } = call;
  let all = population(db).where("r.id", "=", release.id);
  if (query.deploymentGroup !== undefined) {
    all = all.where("g.id", "in", await groupIds(call, query.deploymentGroup, release.project_id));
  }
  const counted = await all
    .select([STATE.as("state"), (eb) => eb.fn.countAll<number>().as("count")])
    .groupBy(STATE)
    .execute();
  const counts = new Map(counted.map(({ state, count }) => [state, Number(count)]));
  const states = query.state;
  const rows = await all
    .$if(states !== undefined, (some) => some.where(STATE, "in", states ?? []))
    .selectAll("d")
    .select([STATE.as("state"), "g.name as group_name", "g.external_id as group_external_id"])
    .$call(pagedByName(page, "d.name", "d.id"))
    .execute();
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
  const rows = await population(db)
    .where("r.id", "in", releaseIds)
    .select([
      "r.id",
      sql<number>`count(*) filter (where ${STATE} = 'updated')`.as("updated"),
      sql<number>`count(*) filter (where ${STATE} in ('pending', 'updating'))`.as("pending"),
      sql<number | null>`avg(d.release_duration_ms) filter (where d.current_release_id = r.id)::double precision`.as(
        "duration",
      ),
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
