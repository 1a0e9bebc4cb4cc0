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

export function inScope(scope: Scope): readonly OperationDeclaration[] {
  return OPERATIONS.filter((each) => each.scope === scope);
}

/** What an installation knows of commands: those of this version, and the operations of plugins that its customer enabled. */
export interface CommandTable {
  /** The tier of a command, also when the plan claims another. An unknown command counts as destructive. */
  readonly tierOf: (command: string) => Tier;
  /** Whether a command works on an object that has no namespace. The operator runs no unknown command. */
  readonly isClusterWide: (command: string) => boolean;
  /** A misspelt command counts as destructive too. */
  readonly isKnown: (command: string) => boolean;
}

/** @param more of plugins, which work in one namespace each. What this version brings keeps its tier, also where `more` has the same command. */
export function commandTable(more: readonly Pick<OperationDeclaration, "command" | "tier">[]): CommandTable {
  // The operator runs no line of a debug session or of a machine, and no act of a release, but each is decided by its tier.
  const built = [...DEBUG_OPERATIONS, ...MACHINE_OPERATIONS, ...RELEASE_OPERATIONS, ...OPERATIONS];
  const own = new Set(built.map(({ command }) => command));
  const others = more.filter(({ command }) => !own.has(command));
  const tiers = new Map([...others, ...built].map(({ command, tier }) => [command, tier]));
  const wide = new Set(inScope("cluster").map(({ command }) => command));
  return Object.freeze({
    tierOf: (command: string) => tiers.get(command) ?? "destructive",
    isClusterWide: (command: string) => wide.has(command),
    isKnown: (command: string) => tiers.has(command),
  });
}

/** Without plugins: what agent and command line know. */
export const BUILT_IN: CommandTable = commandTable([]);
