import type { ColumnType, Generated } from "kysely";
import type { WORKSPACE_ROLES } from "../../../contract/wire/roles.ts";

export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

export interface IdentityTables {
  users: UserRow;
  user_identities: UserIdentityRow;
  workspace_members: WorkspaceMemberRow;
  sessions: SessionRow;
  oauth_records: OAuthRecordRow;
}

export interface UserRow {
  id: string;
  /** Verified, lower case. */
  email: string;
  name: string;
  image: string | null;
  git_host_username: string | null;
  /** Set by the first request of the command line (§21). */
  cli_connected: Generated<boolean>;
  company: string | null;
  acquisition_source: string | null;
  acquisition_source_detail: string | null;
  use_cases: string | null;
  profile_setup_completed_at: Date | null;
  profile_setup_version: number | null;
  created_at: Date;
}

/** A user's account at an outside OpenID provider. */
export interface UserIdentityRow {
  issuer: string;
  subject: string;
  user_id: string;
  created_at: Date;
}

export interface WorkspaceMemberRow {
  workspace_id: string;
  user_id: string;
  role: WorkspaceRole;
  created_at: Date;
}

/** A browser's session. The cookie holds the secret; the table has only its hash. */
export interface SessionRow {
  /** SHA-256 of the cookie's value, hex. */
  id_hash: string;
  user_id: string;
  created_at: Date;
  /** Written at most once a minute. */
  last_used_at: Date;
}

/** What the OAuth server must remember: codes, tokens, grants, interactions. */
export interface OAuthRecordRow {
  kind: string;
  /** SHA-256 of the code, token or id, hex. */
  id_hash: string;
  user_id: string | null;
  /** The consent that the record came from. Reuse of a code or refresh token ends all records of its grant. */
  grant_id: string | null;
  payload: ColumnType<Readonly<Record<string, unknown>>, unknown, unknown>;
  consumed_at: Date | null;
  expires_at: Date | null;
}
