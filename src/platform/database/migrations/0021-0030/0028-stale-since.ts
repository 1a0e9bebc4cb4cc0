import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * When a resource was last read, where the reporter says that it cannot read it now. A confirmation does not make such a
 * row fresh: both views show it as old as that.
 */
export const staleSince: Migration = {
  async up(db) {
    for (const table of ["resource_heartbeats", "inventory_rows"]) {
      await sql`alter table ${sql.id(table)} add column stale_since timestamptz`.execute(db);
    }
    // Rows of before: as old as they were told to be.
    await sql`
      update resource_heartbeats set stale_since = observed_at
      where removed_at is null and body #>> '{data,data,status,stale}' = 'true'`.execute(db);
    await sql`
      update inventory_rows set stale_since = observed_at
      where removed_at is null and body ->> 'providerStale' = 'true'`.execute(db);
    await sql`
      create or replace view live_heartbeats as
      select h.deployment_id, h.resource_type, h.resource_id, h.body,
        coalesce(h.stale_since, greatest(h.observed_at, l.confirmed_at)) as observed_at
      from resource_heartbeats h
      left join resource_levels l using (deployment_id)
      where h.removed_at is null`.execute(db);
    await sql`
      create or replace view live_inventory as
      select i.deployment_id, i.source_kind, i.inventory_scope, i.raw_identity, i.body, s.backend, s.controller_platform,
        coalesce(i.stale_since,
          greatest(i.observed_at, case when s.complete and i.source_kind = 'operator' then l.confirmed_at end)) as observed_at
      from inventory_rows i
      join inventory_scopes s using (deployment_id, source_kind, inventory_scope)
      left join resource_levels l using (deployment_id)
      where i.removed_at is null`.execute(db);
  },
};
