import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** The keys of both ends of a debug session, and what the relay and the cluster say of it at its end. */
export const debugKeys: Migration = {
  async up(db) {
    await sql`
      alter table debug_sessions
        add column tunnel_key text,
        add column bytes_in bigint,
        add column bytes_out bigint,
        add column audit_head text`.execute(db);
    // A session of before names no key, so no tunnel can serve it; its record has no place for the new fields.
    await sql`update debug_sessions set access = null where access is not null`.execute(db);
  },
};
