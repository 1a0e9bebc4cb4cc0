import { type RawBuilder, sql } from "kysely";
import type { Db } from "../../database/db.ts";
import type { CleanUp } from "../../kernel/sweeps/sweep.ts";

/** Deployments of a project with equal values here have the same rollout state for each release. */
const TALLY_COLUMNS = [
  "status",
  "current_release_id",
  "desired_release_id",
  "pinned_release_id",
  "release_channel",
] as const;

/** The columns that decide the rollout state of a deployment. */
export const JUDGED = ["project_id", ...TALLY_COLUMNS] as const;

const KEY = ["owner_id", ...TALLY_COLUMNS] as const;
const COUNTS = ["count", "timed", "duration_ms"] as const;

/**
 * The deployments of projects or groups that are not `deleted`, with similar ones summed up in one row: few rows for
 * any number of deployments.
 * @param project the project of the owners; default: the owners are projects themselves
 */
export function tallies(db: Db, owners: readonly string[], project: RawBuilder<string> = sql.ref("t.owner_id")) {
  const of = sql<boolean>`owner_id = any(${owners}::text[])`;
  const all = db
    .selectFrom("deployment_tallies")
    .select([...KEY, ...COUNTS])
    .where(of)
    .unionAll(
      db
        .selectFrom("deployment_tally_changes")
        .select([...KEY, ...COUNTS])
        .where(of),
    );
  const orNull = (column: string) => sql<string | null>`nullif(${sql.ref(`t.${column}`)}, '')`;
  return db
    .selectFrom(all.as("t"))
    .select((eb) => [
      project.as("project_id"),
      "t.status",
      orNull("current_release_id").as("current_release_id"),
      orNull("desired_release_id").as("desired_release_id"),
      orNull("pinned_release_id").as("pinned_release_id"),
      "t.release_channel",
      eb.fn.sum<number>("t.count").as("count"),
      eb.fn.sum<number>("t.timed").as("timed"),
      eb.fn.sum<number>("t.duration_ms").as("duration"),
    ])
    .groupBy(KEY.map((column) => `t.${column}` as const))
    .having((eb) => eb.fn.sum("t.count"), ">", 0);
}

/** Changes in one transaction: some tens of milliseconds. */
const MAX_CHANGES = 10_000;
/** Only one replica sums up at a time: two would wait for each other's rows. */
const FOLD_LOCK = 0x74616c6c;

/**
 * Adds recorded changes to the tallies, so that reads find few of them. Reads add up both tables, so the sums are right
 * at any time.
 */
export const sweepTallies: CleanUp = async (db) => {
  let folded: number;
  do folded = await fold(db);
  while (folded === MAX_CHANGES);
};

function fold(db: Db): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const { rows: locks } = await sql<{ held: boolean }>`
      select pg_try_advisory_xact_lock(${FOLD_LOCK}) as held`.execute(transaction);
    if (locks[0]?.held !== true) return 0;
    const key = sql.join(KEY.map((column) => sql.ref(column)));
    const { rows } = await sql<{ count: number; emptied: string[] }>`
      with taken as (
        delete from deployment_tally_changes
        where (owner_id, id) in (select owner_id, id from deployment_tally_changes limit ${MAX_CHANGES})
        returning *
      ), added as (
        insert into deployment_tallies as t (${key}, count, timed, duration_ms)
        select ${key}, sum(count), sum(timed), sum(duration_ms) from taken
        group by ${key}
        having (sum(count), sum(timed), sum(duration_ms)) <> (0, 0, 0)
        on conflict (${key}) do update set
          count = t.count + excluded.count,
          timed = t.timed + excluded.timed,
          duration_ms = t.duration_ms + excluded.duration_ms
        returning t.owner_id, (t.count, t.timed, t.duration_ms) = (0, 0, 0) as empty
      )
      select (select count(*) from taken) as count,
        array(select distinct owner_id from added where empty) as emptied`.execute(transaction);
    const { count = 0, emptied = [] } = rows[0] ?? {};
    if (emptied.length > 0) {
      await sql`
        delete from deployment_tallies
        where owner_id = any(${emptied}::text[]) and (count, timed, duration_ms) = (0, 0, 0)`.execute(transaction);
    }
    return count;
  });
}
