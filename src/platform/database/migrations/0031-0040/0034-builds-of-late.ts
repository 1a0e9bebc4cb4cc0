import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** How many packages of a workspace were taken of late is counted for each look of a builder. */
export const buildsOfLate: Migration = {
  async up(db) {
    await sql`
      create index packages_taken on packages (workspace_id, type, locked_at) where locked_at is not null`.execute(db);
  },
};
