import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Projects, groups, releases as far as deployments read them, deployments. */
export const deployments: Migration = {
  async up(db) {
    await projectsAndGroups(db);
    await releases(db);
    await deploymentTable(db);
  },
};

async function projectsAndGroups(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table projects (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      name text not null,
      git_repository jsonb,
      root_directory text,
      deployment_portal_appearance jsonb,
      packages_config jsonb,
      default_managers jsonb,
      enabled_capabilities text[] not null,
      created_at timestamptz not null,
      unique (workspace_id, name)
    )`.execute(db);
  await sql`create index projects_newest on projects (workspace_id, created_at desc, id desc)`.execute(db);
  await sql`
    create table deployment_groups (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      name text not null,
      external_id text,
      max_deployments integer not null,
      created_at timestamptz not null,
      unique (project_id, name),
      unique (project_id, external_id)
    )`.execute(db);
  await sql`create index deployment_groups_newest on deployment_groups (workspace_id, created_at desc, id desc)`.execute(
    db,
  );
}

async function releases(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table releases (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      version text not null,
      git_metadata jsonb,
      stack jsonb not null default '{}',
      created_at timestamptz not null,
      unique (project_id, version)
    )`.execute(db);
  await sql`create index releases_newest on releases (project_id, created_at desc, id desc)`.execute(db);
  await sql`
    create table release_channels (
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      name text not null,
      current_release_id text references releases (id),
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (project_id, name)
    )`.execute(db);
}

async function deploymentTable(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table deployments (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      project_id text not null references projects (id) on delete cascade,
      deployment_group_id text not null references deployment_groups (id) on delete cascade,
      manager_id text references managers (id),
      name text not null,
      platform text not null,
      base_platform text,
      region text,
      purpose text not null,
      deployment_model text not null,
      status text not null,
      error jsonb,
      retry_requested boolean not null default false,
      delete_action text,
      last_heartbeat_at timestamptz,
      stack_state jsonb,
      environment_info jsonb,
      runtime_metadata jsonb,
      update_state jsonb,
      current_release_id text references releases (id),
      released_at timestamptz,
      desired_release_id text references releases (id),
      pinned_release_id text references releases (id),
      release_channel text not null,
      import_source text,
      setup_method text,
      setup_metadata jsonb,
      setup_target text,
      setup_fingerprint text,
      setup_fingerprint_version integer,
      stack_settings jsonb not null,
      resource_prefix text,
      public_subdomain text,
      operator_scope text,
      operator_permission text,
      operator_version text,
      capabilities jsonb,
      environment_variables jsonb,
      current_environment_variables jsonb,
      input_values jsonb not null default '{}',
      next_step_after timestamptz,
      lease_session text,
      lease_since timestamptz,
      lease_expires_at timestamptz,
      lease_confirmed boolean not null default false,
      acquired_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz
    )`.execute(db);
  // A deleted deployment frees its name (§24.4).
  await sql`
    create unique index deployments_name on deployments (deployment_group_id, name) where status <> 'deleted'`.execute(
    db,
  );
  await sql`create index deployments_newest on deployments (workspace_id, created_at desc, id desc)`.execute(db);
  await sql`create index deployments_of_project on deployments (project_id)`.execute(db);
  await sql`create index deployments_of_manager on deployments (manager_id, id)`.execute(db);
}
