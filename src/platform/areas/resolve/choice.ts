import type { Manager } from "../../../contract/managers.ts";
import { isLive, type ManagerFacts, statusOf } from "../managers/state.ts";

const RANK: Readonly<Record<Manager["status"], number>> = { healthy: 0, degraded: 1, unhealthy: 2, unknown: 3 };

export interface Candidate extends ManagerFacts {
  readonly is_system: boolean;
}

/**
 * The default if it is live; else private before system, healthy before ill, and of equals the one heard of last.
 * One that is silent is still chosen when there is no better: its address may work (§12.2).
 */
export function choose<M extends Candidate>(preferred: M | undefined, all: readonly M[], now: Date): M | undefined {
  if (preferred !== undefined && isLive(preferred, now)) return preferred;
  const heardMs = (manager: M): number => manager.last_heartbeat_at?.getTime() ?? 0;
  return all
    .filter((manager) => isLive(manager, now))
    .sort(
      (a, b) =>
        Number(a.is_system) - Number(b.is_system) ||
        RANK[statusOf(a, now)] - RANK[statusOf(b, now)] ||
        heardMs(b) - heardMs(a),
    )[0];
}
