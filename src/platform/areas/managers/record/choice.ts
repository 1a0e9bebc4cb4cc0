import type { Manager } from "../../../../contract/managers/managers.ts";
import { isLive, type ManagerFacts, statusOf } from "./state.ts";

const RANK: Readonly<Record<Manager["status"], number>> = { healthy: 0, degraded: 1, unhealthy: 2, unknown: 3 };

export interface Candidate extends ManagerFacts {
  readonly is_system: boolean;
  readonly shared: boolean;
}

/**
 * Of managers that serve a customer, oldest first: the project's default if it is live; else the customer's own before a
 * shared one before the system's, healthy before ill, and of equals the oldest, so that no manager draws deployments to
 * itself by what it reports. One that is silent is still chosen when there is no better: its address may work (§12.2).
 */
export function choose<M extends Candidate>(preferred: M | undefined, all: readonly M[], now: Date): M | undefined {
  if (preferred !== undefined && isLive(preferred, now)) return preferred;
  const farness = (manager: M): number => (manager.is_system ? 2 : Number(manager.shared));
  return all
    .filter((manager) => isLive(manager, now))
    .toSorted((a, b) => farness(a) - farness(b) || RANK[statusOf(a, now)] - RANK[statusOf(b, now)])[0];
}
