import { sql } from "kysely";
import type { Db } from "../../../database/db.ts";

/** The tallies that are not what counting the deployments gives, of both sides; none, unless something is broken. */
export async function wrongTallies(db: Db): Promise<readonly unknown[]> {
  const { rows } = await sql`
    with counted as (
      select owner_id, status, coalesce(current_release_id, ''), coalesce(desired_release_id, ''),
        coalesce(pinned_release_id, ''), release_channel, count(*)::numeric, count(release_duration_ms)::numeric,
        coalesce(sum(release_duration_ms), 0)
      from deployments d cross join lateral (values (d.project_id), (d.deployment_group_id)) as o (owner_id)
      where status <> 'deleted'
      group by 1, 2, 3, 4, 5, 6
    ), told as (
      select owner_id, status, current_release_id, desired_release_id, pinned_release_id, release_channel, sum(count),
        sum(timed), sum(duration_ms)
      from (
        select ${COLUMNS} from deployment_tallies union all select ${COLUMNS} from deployment_tally_changes
      ) as t
      group by 1, 2, 3, 4, 5, 6
      having (sum(count), sum(timed), sum(duration_ms)) <> (0, 0, 0)
    )
    (table counted except table told) union all (table told except table counted)`.execute(db);
  return rows;
}

const COLUMNS = sql.raw(`owner_id, status, current_release_id, desired_release_id, pinned_release_id, release_channel,
  count, timed, duration_ms`);
