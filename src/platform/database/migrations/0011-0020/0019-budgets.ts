import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Whom to count what is stored for, and what a relay's side hangs on. */
export const budgets: Migration = {
  async up(db) {
    await sql`
      alter table api_keys
        add column minted_by text,
        add column minted_for text,
        add column heirs_expire_at timestamptz`.execute(db);
    // Nothing was kept of who minted a key. A deployment's key that is no user's and has no name is a group token's.
    await sql`
      update api_keys k set minted_for = d.deployment_group_id
      from deployments d
      where k.type = 'deployment' and k.deployment_id = d.id and k.role = 'deployment.manager'
        and k.created_by_user is null and k.description is null`.execute(db);
    await sql`create index api_keys_minted_by on api_keys (minted_by) where revoked_at is null`.execute(db);
    await sql`create index api_keys_minted_for on api_keys (minted_for, deployment_id) where revoked_at is null`.execute(
      db,
    );
    await sql`alter table workspaces add column created_by text`.execute(db);
    await sql`create index workspaces_created_by on workspaces (created_by) where deleted_at is null`.execute(db);
    await sql`alter table events add column by_customer boolean not null default false`.execute(db);
    // What is there counts as 0 until it is reported again: to count it would write every row under the table's lock.
    for (const table of ["resource_heartbeats", "inventory_rows"]) {
      await sql`alter table ${sql.id(table)} add column bytes integer not null default 0`.execute(db);
    }
    await sql`
      alter table relay_tickets add column user_id text, add column proof_kind text, add column proof_id text`.execute(
      db,
    );
  },
};
