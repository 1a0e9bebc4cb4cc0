import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What is built of releases for customers to install. */
export const packages: Migration = {
  async up(db) {
    await sql`
      create table packages (
        id text primary key,
        workspace_id text not null references workspaces (id) on delete cascade,
        project_id text not null references projects (id) on delete cascade,
        type text not null,
        number integer not null,
        status text not null,
        source_release_id text references releases (id),
        setup_fingerprints jsonb not null,
        build_input_hash text not null,
        config jsonb not null,
        outputs jsonb,
        error jsonb,
        source_binary_sha256 text,
        retries integer not null default 0,
        locked_at timestamptz,
        locked_by text,
        lease_expires_at timestamptz,
        build_phase text,
        last_progress_at timestamptz,
        event_id text,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        completed_at timestamptz,
        unique (project_id, type, number)
      )`.execute(db);
    await sql`create index packages_newest on packages (workspace_id, created_at desc, id desc)`.execute(db);
    await sql`
      create index packages_open on packages (created_at, id) where status in ('pending', 'building')`.execute(db);
  },
};
