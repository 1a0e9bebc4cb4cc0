import type { Selectable } from "kysely";
import type { WorkspaceInvitation, WorkspaceInviteLink } from "../../../contract/workspaces/invitations.ts";
import type { Db } from "../../database/db.ts";
import type { InvitationRow, InviteLinkRow, TokenRow } from "../../database/tables/invitations.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import { open } from "../../kernel/sealed.ts";
import { statusOf } from "./state.ts";

export type Invitation = Selectable<InvitationRow>;
export type InviteLink = Selectable<InviteLinkRow>;

export function invitationsOf(db: Db, workspaceId: string) {
  return db.selectFrom("invitations as i").selectAll("i").where("i.workspace_id", "=", workspaceId);
}

/** Invitations that can still be accepted. */
export function pendingOf(db: Db, workspaceId: string, now: Date) {
  return invitationsOf(db, workspaceId)
    .where("i.accepted_at", "is", null)
    .where("i.revoked_at", "is", null)
    .where("i.expires_at", ">", now);
}

export function findLiveLink(db: Db, workspaceId: string, now: Date): Promise<InviteLink | undefined> {
  return db
    .selectFrom("invite_links")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .executeTakeFirst();
}

export async function updateInvitation(db: Db, id: string, set: Partial<InvitationRow>): Promise<Invitation> {
  return db.updateTable("invitations").set(set).where("id", "=", id).returningAll().executeTakeFirstOrThrow();
}

export type LinkConfig = Pick<CallConfig, "portalUrl" | "sealingKey">;

/** The page on which the invitation can be accepted. The address contains the token. */
export function inviteUrlOf({ sealed_token }: Pick<TokenRow, "sealed_token">, config: LinkConfig): string {
  return `${config.portalUrl}/invite/${open(config.sealingKey, sealed_token)}`;
}

export function toInvitation(row: Invitation, config: LinkConfig, now: Date): WorkspaceInvitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: statusOf(row, now),
    deliveryStatus: row.delivery_status,
    expiresAt: row.expires_at.toISOString(),
    lastSentAt: row.last_sent_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    inviteUrl: inviteUrlOf(row, config),
  };
}

export function toInviteLink(row: InviteLink, config: LinkConfig): WorkspaceInviteLink {
  return {
    id: row.id,
    role: row.role,
    expiresAt: row.expires_at.toISOString(),
    createdAt: row.created_at.toISOString(),
    useCount: row.use_count,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    inviteUrl: inviteUrlOf(row, config),
  };
}
