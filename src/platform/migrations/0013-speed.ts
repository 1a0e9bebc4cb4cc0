import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Indexes that measuring asked for (docs/benchmarks.md). */
export const speed: Migration = {
  async up(db) {
    // What was raised since a process last looked, for all managers at once.
    await sql`create index work_feed_newest on work_feed (xid)`.execute(db);
  },
};
