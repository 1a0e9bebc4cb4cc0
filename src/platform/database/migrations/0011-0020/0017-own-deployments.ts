import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** The rows of what a private manager runs as: a deployment, its group and its project, of which there were only ids. */
export const ownDeployments: Migration = {
  async up(db) {
    // The manager's end is theirs, whatever ends it. Before: the deployment names the manager, which must not be gone yet.
    await sql`
      create function forget_own_deployment() returns trigger language plpgsql as $$
      begin
        delete from projects where id = old.internal_project_id;
        return old;
      end $$`.execute(db);
    await sql`
      create trigger managers_forgotten before delete on managers
      for each row execute function forget_own_deployment()`.execute(db);
    await earlierManagers(db);
  },
};

async function earlierManagers(db: Kysely<unknown>): Promise<void> {
  // A workspace that nobody is in (kernel/tenancy/hidden.ts), which no list of workspaces has and no sweep removes.
  await sql`
    insert into workspaces (id, name, created_at, deleted_at)
    select 'ws_000000000000000000000000', 'hidden', now(), '9999-12-31T00:00:00Z'
    where exists (select from managers where internal_project_id is not null)`.execute(db);
  await sql`
    insert into projects (id, workspace_id, name, enabled_capabilities, created_at)
    select internal_project_id, 'ws_000000000000000000000000', 'manager-' || substr(id, 5), '{}', created_at
    from managers where internal_project_id is not null`.execute(db);
  await sql`
    insert into deployment_groups (id, workspace_id, project_id, name, max_deployments, created_at)
    select internal_group_id, 'ws_000000000000000000000000', internal_project_id, 'manager', 1, created_at
    from managers where internal_project_id is not null`.execute(db);
  await sql`
    insert into deployments (id, workspace_id, project_id, deployment_group_id, manager_id, name, platform, region,
      purpose, deployment_model, status, delete_action, release_channel, setup_method, stack_settings, created_at,
      updated_at, deleted_at)
    select internal_deployment_id, 'ws_000000000000000000000000', internal_project_id, internal_group_id, id, 'manager',
      cloud, region, 'application', 'pull',
      case setup_status when 'active' then 'running' when 'deleting' then 'delete-pending' when 'deleted' then 'deleted'
        else 'pending' end,
      case when setup_status in ('deleting', 'deleted') then 'cleanup' end,
      'production', setup_method,
      case network when 'create' then '{"network": {"type": "create"}}'::jsonb
        when 'default' then '{"network": {"type": "use-default"}}'::jsonb else '{}'::jsonb end,
      setup_changed_at, setup_changed_at, case when setup_status = 'deleted' then setup_changed_at end
    from managers
    where internal_project_id is not null and internal_deployment_id is not null and setup_status <> 'pending'`.execute(
    db,
  );
  // Set up anew: what it ran as before is forgotten.
  await sql`
    update managers set internal_deployment_id = null
    where internal_deployment_id is not null and setup_status = 'pending'`.execute(db);
}
