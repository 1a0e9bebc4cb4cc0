import type { InvitationStatus, PreviewState } from "../../../contract/workspaces/invitations.ts";

/** The columns from which, with the time, an invitation's state follows. */
export interface InvitationLife {
  readonly accepted_at: Date | null;
  readonly revoked_at: Date | null;
  readonly expires_at: Date;
}

/** `delivery_until` of what was made without a mail server: no courier takes it, also not a later one. */
export const BY_HAND = new Date("9999-01-01T00:00:00Z");

/** Status of an invitation by email. Accepted and revoked are final. */
export function statusOf(life: InvitationLife, now: Date): InvitationStatus {
  if (life.accepted_at !== null) return "accepted";
  if (life.revoked_at !== null) return "revoked";
  return now >= life.expires_at ? "expired" : "pending";
}

/** The state for the holder of the token. A link is never used up. */
export function previewStateOf(life: InvitationLife, now: Date): PreviewState {
  const status = statusOf(life, now);
  return status === "pending" ? "active" : status;
}

/** Statuses to which resend and DELETE may lead (§3). */
export const NEXT: Readonly<Record<InvitationStatus, readonly InvitationStatus[]>> = {
  pending: ["pending", "accepted", "revoked"],
  expired: ["pending", "revoked"],
  accepted: [],
  revoked: [],
};
