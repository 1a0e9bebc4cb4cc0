import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What became of requests in the customers' clusters, as those say it. */
export const receipts: Migration = {
  async up(db) {
    await sql`
      create table access_receipts (
        access_request_id text primary key references access_requests (id) on delete cascade,
        deployment_id text not null,
        sequence integer not null,
        digest text not null,
        previous text,
        receipt text not null,
        received_at timestamptz not null
      )`.execute(db);
    await sql`create index access_receipts_chain on access_receipts (deployment_id, sequence)`.execute(db);
  },
};
