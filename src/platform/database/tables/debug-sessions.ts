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
  relay_replicas: RelayReplicaRow;
  relay_homes: RelayHomeRow;
}

export type RelaySide = "attach" | "tunnel";

export interface DebugSessionRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_id: string;
  /** The owner as the record shows it. */
  owner: string | null;
  /** The principal that requested the session and may attach; null when a manager opened it by itself. */
  owner_id: string | null;
  /** As stored; readers compute whether it has expired. */
  state: DebugSessionState;
  mode: DebugSession["mode"];
  provider: DebugSession["provider"];
  error: Kept<StoredError> | null;
  access: DebugAccess | null;
  access_request_id: string | null;
  close_reason: CloseReason | null;
  tunnel_key: string | null;
  /** Sums over all pairings of both sides; null before the first one ended. */
  bytes_in: number | null;
  bytes_out: number | null;
  audit_head: string | null;
  created_at: Date;
  expires_at: Date;
  /** Null while the session is open, and until its expiry is stored. */
  ended_at: Date | null;
}

/** A file of a session in the platform's own folder. */
export interface SessionFileRow {
  session_id: string;
  name: string;
  /** The group whose budget of bytes the file counts in. */
  deployment_group_id: string;
  /** Size of the file; until it is stored, the size reserved for it. */
  bytes: number;
  /** False: the upload is in progress, or was interrupted with the platform. */
  stored: Generated<boolean>;
}

export interface RelayTicketRow {
  session_id: string;
  side: RelaySide;
  secret_hash: string;
  /** The key that requested the ticket; when it is revoked, that side is disconnected. Null for a user. */
  api_key_id: string | null;
  /** The user that requested it, and the session or grant that the user's sign-in belongs to. */
  user_id: string | null;
  proof_kind: "session" | "grant" | null;
  proof_id: string | null;
  expires_at: Date;
}

/** A process of the platform that may be the home of sessions. */
export interface RelayReplicaRow {
  id: string;
  /** Where the other replicas reach it; null: nowhere. */
  peer_url: string | null;
  /** By the database's clock. Until then it counts as alive. */
  lease_until: Date;
}

export interface RelayHomeRow {
  session_id: string;
  replica_id: string;
  /** How many sockets the session has had, in all of its homes. */
  sockets: number;
}
