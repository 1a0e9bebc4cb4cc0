import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Where machines of a deployment knock, the nodes that they become, and how far a list of machines in parts is. */
export const joinServers: Migration = {
  async up(db) {
    await sql`
      alter table machine_clusters
        add column join_server jsonb,
        add column join_server_at timestamptz,
        add column join_server_manager text,
        add column inventory_parts jsonb`.execute(db);
    await sql`
      alter table machines
        add column node_name text,
        add column seen_in text`.execute(db);
    await sql`
      create unique index machines_node on machines (deployment_id, node_name)
      where status <> 'removed' and node_name is not null`.execute(db);
  },
};
