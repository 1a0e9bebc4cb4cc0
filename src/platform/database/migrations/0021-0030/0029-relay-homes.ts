import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** In which replica the two sides of a debug session meet, and the number of its newest socket. */
export const relayHomes: Migration = {
  async up(db) {
    await sql`
      create table relay_replicas (
        id text primary key,
        peer_url text,
        lease_until timestamptz not null
      )`.execute(db);
    // No reference to the replica: one that is gone is no home, and its sessions go on counting from their number.
    await sql`
      create table relay_homes (
        session_id text primary key references debug_sessions (id) on delete cascade,
        replica_id text not null,
        sockets integer not null
      )`.execute(db);
  },
};
