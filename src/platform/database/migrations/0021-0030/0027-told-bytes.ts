import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What a deployment has told of its resources lately, for the budget of that. */
export const toldBytes: Migration = {
  async up(db) {
    await sql`
      alter table deployments
        add column told_bytes integer,
        add column told_bytes_at timestamptz`.execute(db);
  },
};
