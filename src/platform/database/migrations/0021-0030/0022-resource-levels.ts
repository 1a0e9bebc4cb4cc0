import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * What a reporter confirms without sending it again, and since when a resource is gone. Two views say for all readers
 * which reports count, and how old they are.
 */
export const resourceLevels: Migration = {
  async up(db) {
    // Rows of before have no hash: the first level does not fit, and brings a full report.
    for (const table of ["resource_heartbeats", "inventory_rows"]) {
      await sql`alter table ${sql.id(table)} add column hash bigint, add column told_at timestamptz`.execute(db);
    }
    await sql`alter table inventory_scopes add column told_at timestamptz`.execute(db);
    await sql`alter table resource_heartbeats add column removed_at timestamptz`.execute(db);
    await sql`
      create index resource_heartbeats_removed on resource_heartbeats (removed_at) where removed_at is not null`.execute(
      db,
    );
    await sql`
      create table resource_levels (
        deployment_id text primary key references deployments (id) on delete cascade,
        digest text not null,
        heartbeats integer not null,
        rows integer not null,
        complete boolean not null,
        confirmed_at timestamptz
      )`.execute(db);
    await sql`
      create view live_heartbeats as
      select h.deployment_id, h.resource_type, h.resource_id, h.body, greatest(h.observed_at, l.confirmed_at) as observed_at
      from resource_heartbeats h
      left join resource_levels l using (deployment_id)
      where h.removed_at is null`.execute(db);
    await sql`
      create view live_inventory as
      select i.deployment_id, i.source_kind, i.inventory_scope, i.raw_identity, i.body, s.backend, s.controller_platform,
        greatest(i.observed_at, case when s.complete and i.source_kind = 'operator' then l.confirmed_at end) as observed_at
      from inventory_rows i
      join inventory_scopes s using (deployment_id, source_kind, inventory_scope)
      left join resource_levels l using (deployment_id)
      where i.removed_at is null`.execute(db);
  },
};
