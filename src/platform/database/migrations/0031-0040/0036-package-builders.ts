import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Which types builders outside ask for, and what failed because nobody did. */
export const packageBuilders: Migration = {
  async up(db) {
    await sql`
      create table package_builders (
        workspace_id text references workspaces (id) on delete cascade,
        type text not null,
        asked_at timestamptz not null
      )`.execute(db);
    await sql`create unique index package_builders_of on package_builders (coalesce(workspace_id, ''), type)`.execute(
      db,
    );
    await sql`
      create index packages_without_builder on packages (created_at, id)
      where status = 'failed' and error ->> 'code' = 'PACKAGE_NO_BUILDER'`.execute(db);
  },
};
