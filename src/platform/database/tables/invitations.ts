import type { WorkspaceInvitation } from "../../../contract/workspaces/invitations.ts";
import type { WorkspaceRole } from "./identity.ts";

export interface InvitationTables {
  invitations: InvitationRow;
  invite_links: InviteLinkRow;
}

export interface TokenRow {
  id: string;
  workspace_id: string;
  role: WorkspaceRole;
  /** SHA-256 of the token, hex: finds a presented token. */
  token_hash: string;
  /** The token itself, sealed, because admins may read it again (kernel/sealed.ts). */
  sealed_token: string;
  /** The user who made it; null when a key did, or the user is gone. */
  created_by: string | null;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
}

export interface InvitationRow extends TokenRow {
  /** Lower case. */
  email: string;
  accepted_at: Date | null;
  delivery_status: WorkspaceInvitation["deliveryStatus"];
  /** While a replica sends the mail: other replicas leave the invitation alone until then. */
  delivery_until: Date | null;
  last_sent_at: Date | null;
  resent_at: Date | null;
}

export interface InviteLinkRow extends TokenRow {
  use_count: number;
  last_used_at: Date | null;
}
