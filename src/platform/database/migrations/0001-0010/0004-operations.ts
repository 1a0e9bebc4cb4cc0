import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Plugins and policy of projects, and access requests. */
export const operations: Migration = {
  async up(db) {
    await pluginsAndPolicy(db);
    await accessRequests(db);
  },
};

async function pluginsAndPolicy(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table builtin_plugins (
      project_id text not null references projects (id) on delete cascade,
      name text not null,
      enabled boolean not null,
      primary key (project_id, name)
    )`.execute(db);
  await sql`
    create table custom_plugins (
      project_id text not null references projects (id) on delete cascade,
      name text not null,
      version text not null,
      tier text not null,
      operations jsonb not null,
      metadata jsonb not null,
      enabled boolean not null,
      registered_at timestamptz not null,
      primary key (project_id, name)
    )`.execute(db);
  await sql`
    create table operation_policies (
      project_id text primary key references projects (id) on delete cascade,
      rules jsonb not null,
      updated_at timestamptz not null
    )`.execute(db);
}

async function accessRequests(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table access_requests (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      deployment_id text not null references deployments (id) on delete cascade,
      remediation_plan_id text not null,
      title text not null,
      reason text,
      commands jsonb not null,
      risk text not null,
      plan_hash text not null,
      max_minutes integer not null,
      debug boolean not null,
      decide_before timestamptz not null,
      status text not null,
      execution text not null,
      approved_until timestamptz,
      decisions jsonb not null,
      materialized jsonb,
      queued_by jsonb,
      queued_at timestamptz,
      closed_at timestamptz,
      created_by jsonb not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`.execute(db);
  await sql`create index access_requests_newest on access_requests (workspace_id, created_at desc, id desc)`.execute(
    db,
  );
  await sql`create index access_requests_of_deployment on access_requests (deployment_id, status)`.execute(db);
  // What time alone can still end: a sweep reads nothing else.
  await sql`
    create index access_requests_open on access_requests (decide_before)
    where status in ('pending-approval', 'queued', 'customer-approved')`.execute(db);
}
