import type { Manager } from "../../../../contract/managers/managers.ts";
import { isLive, type ManagerFacts, statusOf } from "./state.ts";

const RANK: Readonly<Record<Manager["status"], number>> = { healthy: 0, degraded: 1, unhealthy: 2, unknown: 3 };

export interface Candidate extends ManagerFacts {
  readonly is_system: boolean;
  readonly shared: boolean;
}

/**
 * Chooses a manager of a customer from those that serve it, oldest first. The project's default comes first, if it is
 * live. Then the customer's own manager, then a shared one, then a system one; among those a healthy one first; then
 * the oldest, so that a manager cannot attract deployments by its reports. A silent manager is still chosen when there
 * is no better one: its address may work (§12.2).
 */
export function choose<M extends Candidate>(preferred: M | undefined, all: readonly M[], now: Date): M | undefined {
  if (preferred !== undefined && isLive(preferred, now)) return preferred;
  const farness = (manager: M): number => (manager.is_system ? 2 : Number(manager.shared));
  return all
    .filter((manager) => isLive(manager, now))
    .toSorted((a, b) => farness(a) - farness(b) || RANK[statusOf(a, now)] - RANK[statusOf(b, now)])[0];
}
