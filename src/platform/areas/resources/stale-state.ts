import { sql } from "kysely";
import type { Tier } from "../../../contract/operations/operations.ts";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type { AcceptedStale } from "../../../contract/resources/stale-state.ts";
import type { Db } from "../../database/db.ts";
import type { Call } from "../../kernel/call/call.ts";
import { PlatformError } from "../../kernel/errors.ts";

/**
 * Refuses what would destroy something on old knowledge: the resources of the deployment are stale when all that was
 * reported of them is (§2.8). A deployment that has never reported any is let through, because its agent may have no
 * right to read.
 *
 * @returns since when the resources are stale, when the caller accepted that; else null.
 * @throws RESOURCE_STATE_STALE
 */
export async function staleSince(
  { db, now }: Pick<Call, "db" | "now">,
  deploymentId: string,
  tier: Tier,
  acceptStale: boolean | undefined,
): Promise<Date | null> {
  if (tier !== "destructive") return null;
  const observedAt = await lastObserved(db, deploymentId);
  if (observedAt === null || now.getTime() - observedAt.getTime() <= STALE_AFTER_MS) return null;
  if (acceptStale === true) return observedAt;
  const ageSeconds = secondsBetween(observedAt, now);
  throw new PlatformError("RESOURCE_STATE_STALE", {
    message: `the resources of ${deploymentId} were last observed ${inWords(ageSeconds)} ago: what would be destroyed may not be what is known`,
    context: { observedAt: observedAt.toISOString(), ageSeconds, limitSeconds: STALE_AFTER_MS / 1_000 },
  });
}

/**
 * The newest of all reports that count, each as old as its resource was last read; null when there was none. A
 * confirmation by itself counts only when all lists could be read: nothing that was told may mean that nothing is there,
 * or that nothing is seen.
 */
async function lastObserved(db: Db, deploymentId: string): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    select max(at) as at from (
      select confirmed_at as at from resource_levels where deployment_id = ${deploymentId} and complete
      union all select observed_at from live_heartbeats where deployment_id = ${deploymentId}
      union all select observed_at from live_inventory where deployment_id = ${deploymentId}
    ) reported`.execute(db);
  return rows[0]?.at ?? null;
}

/** As the record shows it. @param acceptedAt when the caller accepted it; given whenever `since` is. */
export function toAcceptedStale(since: Date | null, acceptedAt: Date | null): AcceptedStale {
  if (since === null || acceptedAt === null) return null;
  return { observedAt: since.toISOString(), ageSeconds: secondsBetween(since, acceptedAt) };
}

/** Longest reason of a grant, in the customer's cluster too. */
const MAX_REASON = 2_048;

/**
 * The reason of a plan as the approver reads it in the cluster: what the engineer wrote, and on how old knowledge. A
 * reason that is too long gives way at its end.
 */
export function reasonWith(reason: string | null, accepted: AcceptedStale): string | null {
  if (accepted === null) return reason;
  const age = inWords(accepted.ageSeconds);
  const note = `[platform] Raised on knowledge that is ${age} old: the resources were last observed at ${accepted.observedAt}.`;
  if (reason === null || reason.trim() === "") return note;
  const room = MAX_REASON - note.length - 2;
  return `${reason.length <= room ? reason : `${shortened(reason, room - 1)}…`}\n\n${note}`;
}

/** The first `length` UTF-16 units, without half of a character at the end. */
function shortened(text: string, length: number): string {
  const cut = text.slice(0, length);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, Math.floor((to.getTime() - from.getTime()) / 1_000));
}

function inWords(seconds: number): string {
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} minutes`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} hours` : `${Math.floor(seconds / 86_400)} days`;
}
