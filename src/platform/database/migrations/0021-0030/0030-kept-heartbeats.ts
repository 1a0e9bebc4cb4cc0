import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Heartbeats that a full report did not tell because a list could not be read: shown as old, outside of the digest. */
export const keptHeartbeats: Migration = {
  async up(db) {
    await sql`alter table resource_heartbeats add column kept boolean not null default false`.execute(db);
  },
};
