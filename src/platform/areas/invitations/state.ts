import type { InvitationStatus, PreviewState } from "../../../contract/workspaces/invitations.ts";

/** What an invitation's state is read from: time does the rest. */
export interface InvitationLife {
  readonly accepted_at: Date | null;
  readonly revoked_at: Date | null;
  readonly expires_at: Date;
}

/** Of an invitation by email. Accepted and revoked are final. */
export function statusOf(life: InvitationLife, now: Date): InvitationStatus {
  if (life.accepted_at !== null) return "accepted";
  if (life.revoked_at !== null) return "revoked";
  return now >= life.expires_at ? "expired" : "pending";
}

/** As whoever holds the token sees it; a link is never used up. */
export function previewStateOf(life: InvitationLife, now: Date): PreviewState {
  const status = statusOf(life, now);
  return status === "pending" ? "active" : status;
}

/** Where resend and DELETE may lead (§3). */
export const NEXT: Readonly<Record<InvitationStatus, readonly InvitationStatus[]>> = {
  pending: ["pending", "accepted", "revoked"],
  expired: ["pending", "revoked"],
  accepted: [],
  revoked: [],
};
