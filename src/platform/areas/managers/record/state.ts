import type { Manager, SetupStatus } from "../../../../contract/managers/managers.ts";
import { invalidTransition } from "../../../kernel/errors.ts";

/** The stored facts; the rest of the state follows from them and the time (§9). */
export interface ManagerFacts {
  readonly setup_status: SetupStatus | null;
  readonly setup_changed_at: Date;
  readonly status: Manager["status"] | null;
  readonly last_heartbeat_at: Date | null;
}

/** Three heartbeats of 60 s. */
const SILENT_AFTER_MS = 180_000;
/** A manager that got its key but sends no heartbeat for an hour has failed to start. */
const PROVISIONING_LIMIT_MS = 60 * 60_000;

export function isSilent({ last_heartbeat_at: last }: ManagerFacts, now: Date): boolean {
  return last === null || now.getTime() > last.getTime() + SILENT_AFTER_MS;
}

export function statusOf(facts: ManagerFacts, now: Date): Manager["status"] {
  return isSilent(facts, now) ? "unknown" : (facts.status ?? "unknown");
}

export function setupStatusOf(facts: ManagerFacts, now: Date): SetupStatus | null {
  const sinceMs = now.getTime() - facts.setup_changed_at.getTime();
  const unheardMs = Math.min(sinceMs, now.getTime() - (facts.last_heartbeat_at?.getTime() ?? 0));
  if (facts.setup_status === "provisioning" && unheardMs > PROVISIONING_LIMIT_MS) return "failed";
  if (facts.setup_status === "deleting" && sinceMs > SILENT_AFTER_MS && isSilent(facts, now)) return "deleted";
  return facts.setup_status;
}

/** The manager serves deployments: its setup is complete, or it is a system manager. */
export function isLive(facts: ManagerFacts, now: Date): boolean {
  const status = setupStatusOf(facts, now);
  return status === null || status === "active";
}

const MOVES: Readonly<Record<SetupStatus, readonly SetupStatus[]>> = {
  pending: ["pending", "provisioning"],
  provisioning: ["active", "failed", "deleting"],
  active: ["deleting"],
  failed: ["pending", "provisioning", "deleting"],
  deleting: ["deleted"],
  deleted: [],
};

/** @throws INVALID_STATE_TRANSITION unless the manager is in one of `from`; always for system managers. */
export function requireMove(
  facts: ManagerFacts,
  from: readonly SetupStatus[],
  to: SetupStatus | "removed",
  now: Date,
): SetupStatus {
  const current = setupStatusOf(facts, now);
  if (current === null) throw invalidTransition("system", to, []);
  if (!from.includes(current)) throw invalidTransition(current, to, MOVES[current]);
  return current;
}
