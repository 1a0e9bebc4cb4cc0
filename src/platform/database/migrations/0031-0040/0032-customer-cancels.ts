import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Whether a machine's wish has reached its cluster, and when the customer ended one there. */
export const customerCancels: Migration = {
  async up(db) {
    await sql`
      alter table machines
        add column passed_on boolean not null default false,
        add column customer_cancelled_at timestamptz`.execute(db);
  },
};
