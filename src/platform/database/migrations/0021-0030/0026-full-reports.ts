import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** When the last report of all resources of a deployment was made, so that an older one which comes late is known as that. */
export const fullReports: Migration = {
  async up(db) {
    await sql`alter table deployments add column resources_full_at timestamptz`.execute(db);
  },
};
