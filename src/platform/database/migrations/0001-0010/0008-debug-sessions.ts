import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Debug sessions, and the single-use tickets of their relay. */
export const debugSessions: Migration = {
  async up(db) {
    await sql`
      create table debug_sessions (
        id text primary key,
        workspace_id text not null references workspaces (id) on delete cascade,
        project_id text not null references projects (id) on delete cascade,
        deployment_id text not null references deployments (id) on delete cascade,
        owner text,
        owner_id text,
        state text not null,
        mode text not null,
        provider text not null,
        error jsonb,
        access jsonb,
        access_request_id text,
        close_reason text,
        created_at timestamptz not null,
        expires_at timestamptz not null
      )`.execute(db);
    await sql`
      create index debug_sessions_newest on debug_sessions (workspace_id, created_at desc, id desc)`.execute(db);
    await sql`create index debug_sessions_of_deployment on debug_sessions (deployment_id, state)`.execute(db);
    // What time alone can still end: a sweep reads nothing else.
    await sql`
      create index debug_sessions_open on debug_sessions (expires_at)
      where state in ('pending', 'running', 'stopping')`.execute(db);
    // One ticket a side: a new one takes the place of the one before.
    await sql`
      create table relay_tickets (
        session_id text not null references debug_sessions (id) on delete cascade,
        side text not null,
        secret_hash text not null unique,
        api_key_id text,
        expires_at timestamptz not null,
        primary key (session_id, side)
      )`.execute(db);
  },
};
