import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Where a registered plugin's archive lies: `{key, sha256, size}`. */
export const bundles: Migration = {
  async up(db) {
    await sql`alter table custom_plugins add column bundle jsonb`.execute(db);
  },
};
