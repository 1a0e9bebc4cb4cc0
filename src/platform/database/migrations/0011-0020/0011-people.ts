import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What workspaces and their people own: logo and settings, invitations and links, namespaces on the git host. */
export const people: Migration = {
  async up(db) {
    await workspaces(db);
    await invitations(db);
    await sql`
      create table git_namespaces (
        user_id text not null references users (id) on delete cascade,
        provider text not null,
        slug text not null,
        host_id bigint,
        name text not null,
        installation_id bigint,
        type text not null,
        created_at timestamptz not null,
        primary key (user_id, provider, slug)
      )`.execute(db);
    // Retention reads nothing else.
    await sql`create index events_age on events (created_at)`.execute(db);
    await sql`create index api_keys_revoked on api_keys (revoked_at) where revoked_at is not null`.execute(db);
  },
};

async function workspaces(db: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column logo_url text, add column deleted_at timestamptz`.execute(db);
  // A deleted workspace's record stays as long as its revoked keys and invitations; its name is free at once.
  await sql`alter table workspaces drop constraint workspaces_name_key`.execute(db);
  await sql`create unique index workspaces_name on workspaces (name) where deleted_at is null`.execute(db);
  await sql`
    create table workspace_settings (
      workspace_id text primary key references workspaces (id) on delete cascade,
      enabled boolean not null,
      debug_permission_mode text not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`.execute(db);
}

async function invitations(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table invitations (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      email text not null,
      role text not null,
      token_hash text not null unique,
      sealed_token text not null,
      created_by text references users (id) on delete set null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      accepted_at timestamptz,
      revoked_at timestamptz,
      delivery_status text not null,
      delivery_until timestamptz,
      last_sent_at timestamptz,
      resent_at timestamptz
    )`.execute(db);
  await sql`create index invitations_newest on invitations (workspace_id, created_at desc, id desc)`.execute(db);
  await sql`create index invitations_of_address on invitations (workspace_id, email)`.execute(db);
  await sql`
    create index invitations_to_send on invitations (created_at) where delivery_status = 'pending'`.execute(db);
  await sql`
    create table invite_links (
      id text primary key,
      workspace_id text not null references workspaces (id) on delete cascade,
      role text not null,
      token_hash text not null unique,
      sealed_token text not null,
      created_by text references users (id) on delete set null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      revoked_at timestamptz,
      use_count integer not null,
      last_used_at timestamptz
    )`.execute(db);
  await sql`create index invite_links_newest on invite_links (workspace_id, created_at desc)`.execute(db);
}
