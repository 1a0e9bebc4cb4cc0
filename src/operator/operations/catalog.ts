import type { Tier } from "../../crds/plan.ts";
import { describe } from "./describe.ts";
import { events } from "./events.ts";
import { getPods } from "./get-pods.ts";
import { logs } from "./logs.ts";
import type { Operation } from "./operation.ts";
import { deletePod, restartPod } from "./pod-deletion.ts";
import { rolloutRestart } from "./rollout-restart.ts";
import { rolloutStatus } from "./rollout-status.ts";
import { scale } from "./scale.ts";

/** Everything this operator can do, and the only list of it. */
export const OPERATIONS: readonly Operation[] = [
  getPods,
  describe,
  logs,
  events,
  rolloutStatus,
  restartPod,
  rolloutRestart,
  scale,
  deletePod,
];

const BY_COMMAND: ReadonlyMap<string, Operation> = new Map(OPERATIONS.map((known) => [known.command, known]));

/** By `plugin/operation`. */
export function findOperation(command: string): Operation | undefined {
  return BY_COMMAND.get(command);
}

/**
 * Lines of a plan that asks for a debug session: nothing that runs here, but a danger that an approver reads all the same.
 * Source: §2.1 of the API's decisions.
 */
const DEBUG_TIERS: ReadonlyMap<string, Tier> = new Map([
  ["debug/read", "read-only"],
  ["debug/logs", "read-only"],
  ["debug/port-forward", "mutating"],
  ["debug/exec", "destructive"],
]);

/** What this operator knows of a command's danger, whatever anybody claims. Unknown counts as the worst. */
export function tierOf(command: string): Tier {
  return BY_COMMAND.get(command)?.tier ?? DEBUG_TIERS.get(command) ?? "destructive";
}
