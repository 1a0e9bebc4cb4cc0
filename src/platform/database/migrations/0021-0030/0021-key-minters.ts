import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Whom to count keys for that were minted by minted keys, and what each tenant minted within an hour. */
export const keyMinters: Migration = {
  async up(db) {
    // Nothing was kept of who minted a key, so each begins a line of its own.
    await sql`alter table api_keys add column minted_root text`.execute(db);
    await sql`drop index api_keys_minted_by`.execute(db);
    await sql`create index api_keys_minted_root on api_keys (minted_root, created_at) where minted_root is not null`.execute(
      db,
    );
    await sql`
      create index api_keys_minted_for_since on api_keys (minted_for, created_at) where minted_for is not null`.execute(
      db,
    );
    // Those that time alone ended are forgotten too.
    await sql`create index api_keys_expired on api_keys (expires_at) where expires_at is not null`.execute(db);
  },
};
