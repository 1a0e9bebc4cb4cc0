import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What managers report of deployments, and the commands that they run. */
export const reportsAndCommands: Migration = {
  async up(db) {
    await reports(db);
    await commands(db);
  },
};

async function reports(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table acquires (
      manager_id text not null,
      session text not null,
      request_id text not null,
      deployment_ids text[] not null,
      created_at timestamptz not null,
      primary key (manager_id, session, request_id)
    )`.execute(db);
  await sql`create index acquires_age on acquires (created_at)`.execute(db);
  await sql`
    create table resource_heartbeats (
      deployment_id text not null references deployments (id) on delete cascade,
      resource_type text not null,
      resource_id text not null,
      observed_at timestamptz not null,
      body jsonb not null,
      primary key (deployment_id, resource_type, resource_id)
    )`.execute(db);
  await sql`
    create table inventory_scopes (
      deployment_id text not null references deployments (id) on delete cascade,
      source_kind text not null,
      inventory_scope text not null,
      controller_platform text not null,
      backend text not null,
      observed_at timestamptz not null,
      complete boolean not null,
      parts integer[] not null,
      primary key (deployment_id, source_kind, inventory_scope)
    )`.execute(db);
  await sql`
    create table inventory_rows (
      deployment_id text not null,
      source_kind text not null,
      inventory_scope text not null,
      raw_identity text not null,
      observed_at timestamptz not null,
      body jsonb not null,
      removed_at timestamptz,
      primary key (deployment_id, source_kind, inventory_scope, raw_identity),
      foreign key (deployment_id, source_kind, inventory_scope)
        references inventory_scopes (deployment_id, source_kind, inventory_scope) on delete cascade
    )`.execute(db);
  await sql`create index inventory_rows_removed on inventory_rows (removed_at) where removed_at is not null`.execute(
    db,
  );
}

async function commands(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table commands (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      deployment_id text not null references deployments (id) on delete cascade,
      name text not null,
      state text not null,
      deployment_model text not null,
      target jsonb,
      attempt integer,
      deadline timestamptz,
      request_size_bytes bigint,
      response_size_bytes bigint,
      created_at timestamptz not null,
      dispatched_at timestamptz,
      completed_at timestamptz,
      error jsonb,
      access_request_id text,
      plan_index integer,
      invoked_by jsonb,
      params text,
      result text,
      idempotency_key text,
      -- A plan's line has one command, ever (decisions §2.6).
      unique (access_request_id, plan_index)
    )`.execute(db);
  await sql`create index commands_newest on commands (workspace_id, created_at desc, id desc)`.execute(db);
  await sql`create index commands_of_deployment on commands (deployment_id, state)`.execute(db);
  await sql`
    create index commands_idempotency on commands (deployment_id, idempotency_key)
    where idempotency_key is not null`.execute(db);
}
