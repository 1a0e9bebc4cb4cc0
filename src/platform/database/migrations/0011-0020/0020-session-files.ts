import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What files of debug sessions take of their customer's part, and until when a session's files may be written. */
export const sessionFiles: Migration = {
  async up(db) {
    await sql`alter table debug_sessions add column ended_at timestamptz`.execute(db);
    // When they ended was not kept; none of them ended later than this.
    await sql`
      update debug_sessions set ended_at = least(expires_at, now()) where state in ('stopped', 'expired', 'failed')`.execute(
      db,
    );
    // The sessions of the last hour are counted for each new one.
    await sql`create index debug_sessions_since on debug_sessions (deployment_id, created_at)`.execute(db);
    await sql`
      create table session_files (
        session_id text not null references debug_sessions (id) on delete cascade,
        name text not null,
        deployment_group_id text not null,
        bytes bigint not null,
        stored boolean not null default false,
        primary key (session_id, name)
      )`.execute(db);
    // Sums a group's bytes from the index alone.
    await sql`create index session_files_of_group on session_files (deployment_group_id) include (bytes)`.execute(db);
  },
};
