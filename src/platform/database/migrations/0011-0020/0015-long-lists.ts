import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Indexes for lists of a hundred thousand rows (docs/benchmarks.md). */
export const longLists: Migration = {
  async up(db) {
    // The connections' limit is a request's; an index on millions of rows may take longer. Until the migrations end.
    await sql`set local statement_timeout = 0`.execute(db);
    await deploymentsByName(db);
    await beginnings(db);
    await searches(db);
    // Or none of them would be thought better than a scan until the server looks at the tables by itself.
    await sql`analyze deployments, deployment_groups, commands, packages, releases`.execute(db);
  },
};

/** A project's deployments by name, with all that a release's progress is told from: none of the rows need be read. */
async function deploymentsByName(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index deployments_in_project on deployments (project_id, name collate "C", id)
    include (deployment_group_id, status, current_release_id, desired_release_id, pinned_release_id, release_channel,
      release_duration_ms)`.execute(db);
  await sql`drop index deployments_of_project`.execute(db);
}

/** What a search finds by how it begins. */
async function beginnings(db: Kysely<unknown>): Promise<void> {
  await sql`create index releases_by_id on releases (id text_pattern_ops)`.execute(db);
  await sql`create index releases_by_sha on releases ((git_metadata ->> 'commitSha') text_pattern_ops)`.execute(db);
}

/**
 * What a search finds anywhere in a text, from three characters on. It takes an extension that not every server has, and
 * that not every role may create: without it searches find the same, by looking at every row. docs/platform.md names the
 * same indexes, for those who get the extension later.
 */
async function searches(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$
    declare
      ops text;
    begin
      begin
        create extension if not exists pg_trgm;
      exception when others then
        raise notice 'searches are not indexed: %', sqlerrm;
      end;
      -- Somebody may have put it into a schema of its own.
      select format('%I.gin_trgm_ops', nspname) into ops
      from pg_extension join pg_namespace n on n.oid = extnamespace
      where extname = 'pg_trgm' and has_schema_privilege(n.oid, 'usage');
      if ops is null then
        return;
      end if;
      execute format('create index deployments_search on deployments using gin (lower(name) %s)', ops);
      execute format('create index deployment_groups_search on deployment_groups using gin (lower(name) %s)', ops);
      execute format('create index commands_search on commands using gin (lower(name) %s)', ops);
      execute format('create index packages_search on packages using gin (lower(''1.0.'' || number::text) %s)', ops);
      execute format(
        'create index releases_search on releases using gin (lower(version) %1$s,
           lower(git_metadata ->> ''commitMessage'') %1$s, lower(git_metadata ->> ''commitRef'') %1$s)', ops);
    end $$`.execute(db);
}
