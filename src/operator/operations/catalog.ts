import { describe } from "./describe.ts";
import { events } from "./events.ts";
import { getPods } from "./get-pods.ts";
import { logs } from "./logs.ts";
import { cordonNode, uncordonNode } from "./node-scheduling.ts";
import type { Operation } from "./operation.ts";
import { deletePod, restartPod } from "./pod-deletion.ts";
import { rolloutRestart } from "./rollout-restart.ts";
import { rolloutStatus } from "./rollout-status.ts";
import { scale } from "./scale.ts";

/** How each operation that crds/operations declares is done. */
const BUILT = [
  ...[getPods, describe, logs, events, rolloutStatus, restartPod, rolloutRestart],
  ...[scale, deletePod, cordonNode, uncordonNode],
];

const BY_COMMAND: ReadonlyMap<string, Operation> = new Map(BUILT.map((known) => [known.command, known]));

/** By `plugin/operation`. */
export function findOperation(command: string): Operation | undefined {
  return BY_COMMAND.get(command);
}
