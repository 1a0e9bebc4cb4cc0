import { CONFIRMED_LEASE_MS, PROVISIONAL_LEASE_MS } from "../../../../contract/deployments/sync.ts";

/** The session that works on a deployment, and until when (§15.2). The first renewal confirms the lease. */
export interface Lease {
  readonly lease_session: string | null;
  readonly lease_since: Date | null;
  readonly lease_expires_at: Date | null;
  readonly lease_confirmed: boolean;
}

export const FREE: Lease = { lease_session: null, lease_since: null, lease_expires_at: null, lease_confirmed: false };

/**
 * The session that holds the lease now; undefined when it is free or has lapsed. At the instant of its end a lease has
 * lapsed.
 */
export function holder(lease: Lease, now: Date): string | undefined {
  const { lease_session, lease_expires_at } = lease;
  if (lease_session === null || lease_expires_at === null || now >= lease_expires_at) return undefined;
  return lease_session;
}

export function grant(session: string, now: Date): Lease {
  const until = new Date(now.getTime() + PROVISIONAL_LEASE_MS);
  return { lease_session: session, lease_since: now, lease_expires_at: until, lease_confirmed: false };
}

/** Undefined when the session does not hold it any more. */
export function renewed(lease: Lease, session: string, now: Date): Lease | undefined {
  if (holder(lease, now) !== session) return undefined;
  return {
    lease_session: session,
    lease_since: lease.lease_since,
    lease_expires_at: new Date(now.getTime() + CONFIRMED_LEASE_MS),
    lease_confirmed: true,
  };
}

/** Unchanged unless that session holds it. */
export function released(lease: Lease, session: string, now: Date): Lease {
  return holder(lease, now) === session ? FREE : lease;
}

/** Whether a report of this session may be stored (§15.3). */
export function reportLock(
  lease: Lease,
  report: { readonly session: string | null; readonly model: "push" | "pull" },
  now: Date,
): "allowed" | "session-required" | "LEASE_LOST" | "DEPLOYMENT_LOCKED" {
  const by = holder(lease, now);
  if (report.session !== null) return by === report.session ? "allowed" : "LEASE_LOST";
  if (report.model === "push") return "session-required";
  return by !== undefined && lease.lease_confirmed ? "DEPLOYMENT_LOCKED" : "allowed";
}
