import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** On how old knowledge something destructive was asked for, where the caller accepted that it was old. */
export const acceptedStale: Migration = {
  async up(db) {
    for (const table of ["access_requests", "commands"]) {
      await sql`alter table ${sql.id(table)} add column stale_since timestamptz`.execute(db);
    }
  },
};
