import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** For lists that counted, or walked, as many rows as there are (docs/benchmarks.md). */
export const tallies: Migration = {
  async up(db) {
    // The connections' limit is a request's. Until the migrations end.
    await sql`set local statement_timeout = 0`.execute(db);
    // At once: who has one lock and wants a stronger one may wait for somebody who waits for the first.
    await sql`do $$ begin lock table channel_promotions, deployments in access exclusive mode; end $$`.execute(db);
    await promotionsInOrder(db);
    await deploymentClasses(db);
    await tallyTables(db);
    await tallyTriggers(db);
    await firstTallies(db);
    await sql`analyze deployments, deployment_tallies, channel_promotions`.execute(db);
  },
};

/** A promotion carries its release's place in lists, whoever writes it: releases never change. */
async function promotionsInOrder(db: Kysely<unknown>): Promise<void> {
  await sql`alter table channel_promotions add column workspace_id text, add column created_at timestamptz`.execute(db);
  await sql`
    update channel_promotions c set workspace_id = r.workspace_id, created_at = r.created_at
    from releases r where r.id = c.release_id`.execute(db);
  await sql`alter table channel_promotions alter workspace_id set not null, alter created_at set not null`.execute(db);
  await sql`
    create function place_promotion() returns trigger language plpgsql as $$
    begin
      select workspace_id, created_at into new.workspace_id, new.created_at from releases where id = new.release_id;
      return new;
    end $$`.execute(db);
  await sql`
    create trigger channel_promotions_place before insert on channel_promotions
    for each row execute function place_promotion()`.execute(db);
  for (const owner of ["workspace_id", "project_id"]) {
    await sql`
      create index ${sql.id(`channel_promotions_of_${owner}`)}
      on channel_promotions (${sql.ref(owner)}, channel, created_at desc, release_id desc)`.execute(db);
  }
  await sql`drop index channel_promotions_of_project`.execute(db);
}

/** Two narrow indexes in the place of one that held all that is judged: by name, and by name among those alike. */
async function deploymentClasses(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function deployment_class(project text, status text, current_release text, desired_release text,
      pinned_release text, channel text) returns bigint
    language sql immutable parallel safe
    as $$
      select hashtextextended(project || ' ' || status || ' ' || coalesce(current_release, '') || ' '
        || coalesce(desired_release, '') || ' ' || coalesce(pinned_release, '') || ' ' || channel, 0)
    $$`.execute(db);
  await sql`
    create index deployments_by_class on deployments (
      deployment_class(project_id, status, current_release_id, desired_release_id, pinned_release_id, release_channel),
      name collate "C", id)
    where status <> 'deleted'`.execute(db);
  await sql`drop index deployments_in_project`.execute(db);
  await sql`create index deployments_in_project on deployments (project_id, name collate "C", id)`.execute(db);
}

/**
 * How many deployments that are not deleted are alike, in each project and in each group. Writers only add what they
 * changed, for two that count in one row would wait for each other, or lose; a sweep folds it.
 */
async function tallyTables(db: Kysely<unknown>): Promise<void> {
  const tally = sql`
    owner_id text not null,
    status text not null,
    -- Empty: none. A key has no nulls.
    current_release_id text not null,
    desired_release_id text not null,
    pinned_release_id text not null,
    release_channel text not null,
    count bigint not null,
    timed bigint not null,
    duration_ms bigint not null`;
  await sql`
    create table deployment_tallies (${tally},
      primary key (owner_id, status, current_release_id, desired_release_id, pinned_release_id, release_channel))`.execute(
    db,
  );
  await sql`
    create table deployment_tally_changes (id bigint generated always as identity, ${tally}, primary key (owner_id, id))`.execute(
    db,
  );
}

/** Of `deployments` beside each of their two owners, as rows of a tally. */
const TALLIED = sql`
  owner_id, status, coalesce(current_release_id, ''), coalesce(desired_release_id, ''), coalesce(pinned_release_id, ''),
  release_channel`;
const OWNERS = sql`cross join lateral (values (d.project_id), (d.deployment_group_id)) as o (owner_id)`;

/** In the database, for whoever writes: also a replica of an earlier version, and a cascade. */
async function tallyTriggers(db: Kysely<unknown>): Promise<void> {
  const changes = sql`
    insert into deployment_tally_changes (owner_id, status, current_release_id, desired_release_id, pinned_release_id,
      release_channel, count, timed, duration_ms)`;
  await sql`
    create function tally_deployments() returns trigger language plpgsql as $$
    declare
      sign bigint := case tg_op when 'INSERT' then 1 else -1 end;
    begin
      ${changes}
      select ${TALLIED}, sign * count(*), sign * count(release_duration_ms), sign * coalesce(sum(release_duration_ms), 0)
      from changed d ${OWNERS}
      where status <> 'deleted'
      group by 1, 2, 3, 4, 5, 6;
      return null;
    end $$`.execute(db);
  await sql`
    create function tally_deployment() returns trigger language plpgsql as $$
    begin
      ${changes}
      select ${TALLIED}, sign, sign * (release_duration_ms is not null)::integer, sign * coalesce(release_duration_ms, 0)
      from (
        values
          (-1, old.project_id, old.deployment_group_id, old.status, old.current_release_id, old.desired_release_id,
            old.pinned_release_id, old.release_channel, old.release_duration_ms),
          (1, new.project_id, new.deployment_group_id, new.status, new.current_release_id, new.desired_release_id,
            new.pinned_release_id, new.release_channel, new.release_duration_ms)
      ) as d (sign, project_id, deployment_group_id, status, current_release_id, desired_release_id, pinned_release_id,
        release_channel, release_duration_ms) ${OWNERS}
      where status <> 'deleted';
      return null;
    end $$`.execute(db);
  await sql`
    create trigger deployments_tally_insert after insert on deployments referencing new table as changed
    for each statement execute function tally_deployments()`.execute(db);
  await sql`
    create trigger deployments_tally_delete after delete on deployments referencing old table as changed
    for each statement execute function tally_deployments()`.execute(db);
  // Row by row, for a heartbeat to cost no more than the comparison: a statement's would keep all rows for the trigger.
  await sql`
    create trigger deployments_tally_update after update on deployments for each row
    when ((old.project_id, old.deployment_group_id, old.status, old.current_release_id, old.desired_release_id,
        old.pinned_release_id, old.release_channel, old.release_duration_ms)
      is distinct from (new.project_id, new.deployment_group_id, new.status, new.current_release_id,
        new.desired_release_id, new.pinned_release_id, new.release_channel, new.release_duration_ms))
    execute function tally_deployment()`.execute(db);
}

/** Of what is there: nobody else writes meanwhile. */
async function firstTallies(db: Kysely<unknown>): Promise<void> {
  await sql`
    insert into deployment_tallies
    select ${TALLIED}, count(*), count(release_duration_ms), coalesce(sum(release_duration_ms), 0)
    from deployments d ${OWNERS}
    where status <> 'deleted'
    group by 1, 2, 3, 4, 5, 6`.execute(db);
}
