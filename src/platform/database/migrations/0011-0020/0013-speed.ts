import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Indexes that measuring asked for (docs/benchmarks.md). */
export const speed: Migration = {
  async up(db) {
    // What was raised since a process last looked, for all managers at once.
    await sql`create index work_feed_newest on work_feed (xid)`.execute(db);
    await newestOfFilters(db);
    await lookups(db);
  },
};

/**
 * Lists are newest first, and a filter that few rows fit would else walk through all the others. Each of these is one
 * filter's own list in that order.
 */
async function newestOfFilters(db: Kysely<unknown>): Promise<void> {
  const filters = {
    deployments: ["status", "platform", "purpose"],
    commands: ["state"],
    access_requests: ["status"],
    debug_sessions: ["state", "mode", "provider"],
    packages: ["status", "type"],
    releases: ["branch"],
  };
  for (const [table, columns] of Object.entries(filters)) {
    for (const column of columns) {
      await sql`
        create index ${sql.id(`${table}_by_${column}`)}
        on ${sql.table(table)} (workspace_id, ${sql.ref(column)}, created_at desc, id desc)`.execute(db);
    }
  }
  // Projects, releases and deployments belong to one workspace.
  const owners = {
    deployment_groups: ["project_id"],
    access_requests: ["project_id"],
    debug_sessions: ["project_id"],
    packages: ["project_id"],
    events: ["project_id", "release_id"],
    api_keys: ["project_id"],
  };
  for (const [table, columns] of Object.entries(owners)) {
    for (const column of columns) {
      await sql`
        create index ${sql.id(`${table}_of_${column}`)}
        on ${sql.table(table)} (${sql.ref(column)}, created_at desc, id desc)
        where ${sql.ref(column)} is not null`.execute(db);
    }
  }
}

/** Filters that few rows fit, whatever is asked for: the rows are found first, and sorted then. */
async function lookups(db: Kysely<unknown>): Promise<void> {
  await sql`create index deployments_by_name on deployments (workspace_id, name)`.execute(db);
  await sql`create index commands_by_name on commands (workspace_id, name)`.execute(db);
  await sql`create index access_requests_of_plan on access_requests (workspace_id, remediation_plan_id)`.execute(db);
  for (const field of ["commitAuthorLogin", "commitAuthorName"]) {
    await sql`
      create index ${sql.id(`releases_by_${field}`)}
      on releases (workspace_id, lower(git_metadata ->> ${sql.lit(field)}))`.execute(db);
  }
}
