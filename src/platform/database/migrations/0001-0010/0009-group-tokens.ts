import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What a group token settles beforehand and nobody may read back: kept beside the key, sealed. */
export const groupTokens: Migration = {
  async up(db) {
    await sql`
      create table group_token_setups (
        api_key_id text primary key references api_keys (id) on delete cascade,
        environment_variables jsonb,
        input_values jsonb not null default '{}',
        session_of text
      )`.execute(db);
    await sql`
      create index group_token_sessions on group_token_setups (session_of) where session_of is not null`.execute(db);
  },
};
