import type { Generated } from "kysely";

/** Tables that belong to no area. */
export interface KernelTables {
  workspaces: WorkspaceRow;
  idempotency: IdempotencyRow;
}

export interface WorkspaceRow {
  id: string;
  name: string;
  /** The one workspace of the server itself, where system managers and their keys live. */
  is_system: boolean;
  logo_url: Generated<string | null>;
  created_at: Date;
  /** The user who made it; null when a command of the server did. */
  created_by: Generated<string | null>;
  /** Only the record is left, as long as the revoked keys and invitations that name it. */
  deleted_at: Generated<Date | null>;
}

/** What a POST with `Idempotency-Key` answered, for 24 h (§0.7). */
export interface IdempotencyRow {
  principal_id: string;
  route: string;
  key: string;
  body_hash: string;
  status: number;
  /** Null when the answer carried a secret: it cannot be replayed. */
  body: unknown;
  created_at: Date;
}
