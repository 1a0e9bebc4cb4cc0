import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Join tokens, and the machines that joined or were seen. */
export const machines: Migration = {
  async up(db) {
    await sql`
      create table machine_clusters (
        deployment_id text primary key references deployments (id) on delete cascade,
        cluster_id text not null unique,
        inventory_observed_at timestamptz
      )`.execute(db);
    await sql`
      create table join_tokens (
        id text primary key,
        deployment_id text not null references deployments (id) on delete cascade,
        secret_hash text not null,
        created_by text not null,
        created_at timestamptz not null,
        expires_at timestamptz,
        max_joins integer,
        join_count integer not null default 0,
        last_used_at timestamptz,
        revoked_at timestamptz,
        check (max_joins is null or join_count <= max_joins)
      )`.execute(db);
    await sql`create index join_tokens_newest on join_tokens (deployment_id, created_at desc, id desc)`.execute(db);
    await sql`
      create table machines (
        id text primary key,
        deployment_id text not null references deployments (id) on delete cascade,
        machine_id text not null,
        status text not null,
        status_since timestamptz not null,
        last_heartbeat timestamptz not null,
        reported text,
        drain_requested_at timestamptz,
        drain_deadline_at timestamptz,
        drain_force boolean not null,
        drained_at timestamptz,
        drain_cancelled_at timestamptz,
        removal_requested_at timestamptz,
        revision integer not null,
        details jsonb not null,
        token_id text,
        public_key text,
        created_at timestamptz not null
      )`.execute(db);
    // A removed machine's id may join again, as a new record.
    await sql`
      create unique index machines_live on machines (deployment_id, machine_id) where status <> 'removed'`.execute(db);
    await sql`
      create index machines_wanted on machines (deployment_id)
      where status <> 'removed'
        and (drain_requested_at is not null or drain_cancelled_at is not null or removal_requested_at is not null)`.execute(
      db,
    );
  },
};
