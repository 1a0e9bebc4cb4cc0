import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Users, who belongs to which workspace, browser sessions, and what the OAuth server has issued. */
export const identity: Migration = {
  async up(db) {
    await sql`
      create table users (
        id text primary key,
        email text not null unique,
        name text not null,
        image text,
        git_host_username text,
        cli_connected boolean not null default false,
        company text,
        acquisition_source text,
        acquisition_source_detail text,
        use_cases text,
        profile_setup_completed_at timestamptz,
        profile_setup_version integer,
        created_at timestamptz not null
      )`.execute(db);
    // Who an outside provider says it is: an address may pass to another person there, its subject never does.
    await sql`
      create table user_identities (
        issuer text not null,
        subject text not null,
        user_id text not null references users (id) on delete cascade,
        created_at timestamptz not null,
        primary key (issuer, subject),
        unique (issuer, user_id)
      )`.execute(db);
    await sql`
      create table workspace_members (
        workspace_id text not null references workspaces (id) on delete cascade,
        user_id text not null references users (id) on delete cascade,
        role text not null,
        created_at timestamptz not null,
        primary key (workspace_id, user_id)
      )`.execute(db);
    await sql`create index workspace_members_of_user on workspace_members (user_id)`.execute(db);
    await sql`
      create table sessions (
        id_hash text primary key,
        user_id text not null references users (id) on delete cascade,
        created_at timestamptz not null,
        last_used_at timestamptz not null
      )`.execute(db);
    await sql`create index sessions_age on sessions (last_used_at)`.execute(db);
    await sql`create index sessions_of_user on sessions (user_id)`.execute(db);
    await sql`
      create table oauth_records (
        kind text not null,
        id_hash text not null,
        user_id text references users (id) on delete cascade,
        grant_id text,
        payload jsonb not null,
        consumed_at timestamptz,
        expires_at timestamptz,
        primary key (kind, id_hash)
      )`.execute(db);
    await sql`create index oauth_records_of_grant on oauth_records (grant_id) where grant_id is not null`.execute(db);
    await sql`create index oauth_records_age on oauth_records (expires_at)`.execute(db);
    // Keys of tokens for managers and keys of id tokens must never stand in for each other.
    await sql`alter table signing_keys add column purpose text not null default 'manager-access'`.execute(db);
  },
};
