import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What the releases' own area keeps beside what deployments read. */
export const releases: Migration = {
  async up(db) {
    await sql`
      alter table releases
        add column setup_fingerprints jsonb not null default '{}',
        add column root_directory text,
        add column branch text,
        add column created_by jsonb`.execute(db);
    await sql`create index releases_of_workspace on releases (workspace_id, created_at desc, id desc)`.execute(db);
    // Lists show what a channel points at or has pointed at (§5.2).
    await sql`
      create table channel_promotions (
        project_id text not null references projects (id) on delete cascade,
        channel text not null,
        release_id text not null references releases (id) on delete cascade,
        promoted_at timestamptz not null,
        primary key (release_id, channel)
      )`.execute(db);
    await sql`create index channel_promotions_of_project on channel_promotions (project_id, channel)`.execute(db);
    await sql`
      insert into channel_promotions (project_id, channel, release_id, promoted_at)
      select project_id, name, current_release_id, updated_at from release_channels
      where current_release_id is not null`.execute(db);
    await sql`alter table deployments add column release_duration_ms bigint`.execute(db);
    await sql`
      create index deployments_followers on deployments (project_id, release_channel)
      where status <> 'deleted'`.execute(db);
  },
};
