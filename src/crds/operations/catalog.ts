import type { Tier } from "../plan.ts";
import { RELEASE_OPERATIONS } from "../released/releases.ts";
import { CORDON_NODE } from "./cordon-node.ts";
import { DEBUG_OPERATIONS } from "./debug.ts";
import { DELETE_POD } from "./delete-pod.ts";
import { DESCRIBE } from "./describe.ts";
import { EVENTS } from "./events.ts";
import { GET_PODS } from "./get-pods.ts";
import { LOGS } from "./logs.ts";
import { MACHINE_OPERATIONS } from "./machines.ts";
import type { OperationDeclaration, Scope } from "./operation.ts";
import { RESTART_POD } from "./restart-pod.ts";
import { ROLLOUT_RESTART } from "./rollout-restart.ts";
import { ROLLOUT_STATUS } from "./rollout-status.ts";
import { SCALE } from "./scale.ts";
import { UNCORDON_NODE } from "./uncordon-node.ts";

/** Every operation that the customer's side knows, in the order in which it is listed. */
export const OPERATIONS: readonly OperationDeclaration[] = [
  GET_PODS,
  DESCRIBE,
  LOGS,
  EVENTS,
  ROLLOUT_STATUS,
  RESTART_POD,
  ROLLOUT_RESTART,
  SCALE,
  DELETE_POD,
  CORDON_NODE,
  UNCORDON_NODE,
];

const CLUSTER_WIDE: ReadonlySet<string> = new Set(inScope("cluster").map(({ command }) => command));

export function inScope(scope: Scope): readonly OperationDeclaration[] {
  return OPERATIONS.filter((each) => each.scope === scope);
}

/** Whether a command works on an object that has no namespace. The operator runs no unknown command. */
export function isClusterWide(command: string): boolean {
  return CLUSTER_WIDE.has(command);
}

const TIERS: ReadonlyMap<string, Tier> = new Map([
  // The operator runs no line of a debug session or of a machine, and no act of a release, but each is decided by its tier.
  ...[...DEBUG_OPERATIONS, ...MACHINE_OPERATIONS, ...RELEASE_OPERATIONS, ...OPERATIONS].map(
    ({ command, tier }) => [command, tier] as const,
  ),
]);

/** The tier of a command, also when the plan claims another. An unknown command counts as destructive. */
export function tierOf(command: string): Tier {
  return TIERS.get(command) ?? "destructive";
}

/** Whether it is a command of this version: a misspelt one counts as destructive too. */
export function isKnown(command: string): boolean {
  return TIERS.has(command);
}
