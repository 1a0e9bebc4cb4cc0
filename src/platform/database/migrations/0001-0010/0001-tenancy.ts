import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Workspaces, keys, managers, events, the work feed, idempotency records. */
export const tenancy: Migration = {
  async up(db) {
    await workspacesAndKeys(db);
    await managers(db);
    await eventsAndFeed(db);
  },
};

async function workspacesAndKeys(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table workspaces (
      id text primary key,
      name text not null unique,
      is_system boolean not null default false,
      created_at timestamptz not null
    )`.execute(db);
  await sql`create unique index workspaces_one_system on workspaces (is_system) where is_system`.execute(db);
  await sql`
    create table api_keys (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      key_id text not null unique,
      key_prefix text not null,
      secret_hash text not null,
      type text not null,
      role text not null,
      project_id text,
      deployment_id text,
      deployment_group_id text,
      manager_id text,
      setup_manager_id text,
      description text,
      enabled boolean not null default true,
      deployment_setup_config jsonb,
      created_by_user jsonb,
      created_at timestamptz not null,
      expires_at timestamptz,
      last_used_at timestamptz,
      revoked_at timestamptz
    )`.execute(db);
  await sql`create index api_keys_newest on api_keys (workspace_id, created_at desc, id desc)`.execute(db);
  await sql`create index api_keys_of_manager on api_keys (manager_id) where manager_id is not null`.execute(db);
  await sql`
    create table idempotency (
      principal_id text not null,
      route text not null,
      key text not null,
      body_hash text not null,
      status integer not null,
      body jsonb,
      created_at timestamptz not null,
      primary key (principal_id, route, key)
    )`.execute(db);
  await sql`create index idempotency_age on idempotency (created_at)`.execute(db);
}

async function managers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table managers (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      name text not null,
      is_system boolean not null default false,
      cloud text,
      region text,
      targets text[] not null,
      setup_status text,
      setup_method text,
      setup_changed_at timestamptz not null,
      url text,
      status text,
      version text,
      metrics jsonb,
      management_configs jsonb not null default '{}',
      otlp_config jsonb,
      network text,
      last_heartbeat_at timestamptz,
      internal_project_id text,
      internal_group_id text,
      internal_deployment_id text,
      bootstrap_key_id text,
      created_at timestamptz not null
    )`.execute(db);
  await sql`create index managers_of_workspace on managers (workspace_id)`.execute(db);
  await sql`
    create table signing_keys (
      id text primary key,
      public_jwk jsonb not null,
      sealed_private_key text not null,
      created_at timestamptz not null
    )`.execute(db);
}

async function eventsAndFeed(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table events (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null,
      deployment_id text,
      deployment_group_id text,
      release_id text,
      debug_session_id text,
      type text not null,
      data jsonb not null,
      state jsonb not null,
      created_at timestamptz not null
    )`.execute(db);
  await sql`create index events_newest on events (workspace_id, created_at desc, id desc)`.execute(db);
  await sql`create index events_of_deployment on events (deployment_id, created_at desc, id desc)`.execute(db);
  await sql`
    create table work_feed (
      manager_id text not null,
      topic text not null,
      deployment_id text not null,
      xid xid8 not null,
      primary key (manager_id, topic, deployment_id)
    )`.execute(db);
  // A cursor of another database (restored, recreated) must not be compared with this one's transaction ids.
  await sql`create table feed_epoch (id text primary key)`.execute(db);
  await sql`insert into feed_epoch (id) values (replace(gen_random_uuid()::text, '-', ''))`.execute(db);
}
