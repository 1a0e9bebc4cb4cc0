import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Whom a private manager serves: one deployment group, or every group of its workspace when an admin has said so. */
export const managersServe: Migration = {
  async up(db) {
    await sql`
      alter table managers
        add column deployment_group_id text references deployment_groups (id) on delete set null,
        add column shared boolean not null default false,
        add constraint managers_serve_one check (not (shared and deployment_group_id is not null))`.execute(db);
    await sql`
      create index managers_of_group on managers (deployment_group_id) where deployment_group_id is not null`.execute(
      db,
    );
    await sql`
      alter table deployments
        add column previous_manager_id text references managers (id) on delete set null`.execute(db);
    await sql`
      create index deployments_waiting on deployments (created_at, id)
      where manager_id is null and status <> 'deleted'`.execute(db);
    // For the record of a manager to go: who had it is looked for.
    await sql`
      create index deployments_of_previous_manager on deployments (previous_manager_id)
      where previous_manager_id is not null`.execute(db);
    await earlierManagers(db);
  },
};

/** What a manager was used for stays: one group. With deployments of several groups it is not known whose it is. */
async function earlierManagers(db: Kysely<unknown>): Promise<void> {
  await sql`
    update managers m set deployment_group_id = used.group_id
    from (
      select d.manager_id, min(d.deployment_group_id) as group_id
      from deployments d
      where d.status <> 'deleted' and d.workspace_id <> 'ws_000000000000000000000000'
      group by d.manager_id
      having count(distinct d.deployment_group_id) = 1
    ) used, deployment_groups g
    where used.manager_id = m.id and g.id = used.group_id and g.workspace_id = m.workspace_id and not m.is_system`.execute(
    db,
  );
  // The rest wait: no manager works on them until an admin has said whom their manager serves, or has moved them.
  await sql`
    update deployments d
    set previous_manager_id = d.manager_id, manager_id = null,
      lease_session = null, lease_since = null, lease_expires_at = null, lease_confirmed = false
    from managers m
    where m.id = d.manager_id and d.status <> 'deleted' and d.workspace_id <> 'ws_000000000000000000000000'
      and not m.is_system and m.deployment_group_id is distinct from d.deployment_group_id`.execute(db);
}
