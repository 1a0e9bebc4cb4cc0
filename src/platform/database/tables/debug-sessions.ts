import type { Generated } from "kysely";
import type {
  CloseReason,
  DebugAccess,
  DebugSession,
  DebugSessionState,
} from "../../../contract/debug-sessions/debug-sessions.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Kept } from "./kept.ts";

export interface DebugSessionTables {
  debug_sessions: DebugSessionRow;
  relay_tickets: RelayTicketRow;
  session_files: SessionFileRow;
}

export type RelaySide = "attach" | "tunnel";

export interface DebugSessionRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_id: string;
  /** How the record names its owner. */
  owner: string | null;
  /** Who may attach: the principal that asked; null when a manager opened it by itself. */
  owner_id: string | null;
  /** As stored; whether it has expired is judged on read. */
  state: DebugSessionState;
  mode: DebugSession["mode"];
  provider: DebugSession["provider"];
  error: Kept<StoredError> | null;
  access: DebugAccess | null;
  access_request_id: string | null;
  close_reason: CloseReason | null;
  created_at: Date;
  expires_at: Date;
  /** Null while it goes on, and until its expiry is written down. */
  ended_at: Date | null;
}

/** A file of a session in the platform's own folder. */
export interface SessionFileRow {
  session_id: string;
  name: string;
  /** Whose budget of bytes it counts in. */
  deployment_group_id: string;
  /** Of the file; as long as it is not stored, what has been set aside for it. */
  bytes: number;
  /** False: it is coming, or has broken off with the platform. */
  stored: Generated<boolean>;
}

export interface RelayTicketRow {
  session_id: string;
  side: RelaySide;
  secret_hash: string;
  /** The key that asked for it: when it dies, the side goes. Null for a user. */
  api_key_id: string | null;
  /** The user that asked for it, and what its sign-in hangs on. */
  user_id: string | null;
  proof_kind: "session" | "grant" | null;
  proof_id: string | null;
  expires_at: Date;
}
