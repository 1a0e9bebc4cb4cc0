import type { Clock } from "../../base/clock.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { cordonOf, type NodePorts } from "./cordon.ts";
import { removedStatus } from "./drain-status.ts";
import type { DrainNode } from "./shapes.ts";
import { isApproved } from "./turn.ts";

/** The I/O of a removal. */
export interface RemovalPorts extends NodePorts {
  /** Its calendar is the API server's. */
  readonly clock: Clock;
  /** Joins of this node that are not over. */
  readonly liveJoins: (nodeName: string, signal: AbortSignal) => Promise<readonly MachineJoin[]>;
  /** The label with which admission refuses the machine, then its last state. */
  readonly markRemoved: (join: MachineJoin, signal: AbortSignal) => Promise<void>;
  /** This very one. */
  readonly deleteNode: (node: DrainNode, signal: AbortSignal) => Promise<void>;
  /** With the resourceVersion that was read. */
  readonly writeStatus: (drain: MachineDrain, status: MachineDrainStatus, signal: AbortSignal) => Promise<MachineDrain>;
}

const AFTER_UNCORDON_MS = 60_000;
/**
 * From the machine's label to the end of its node. Each API server knows the joins of removed machines a moment late: a
 * machine that asks without end would make its node again in that moment, Ready and open to pods.
 */
const REFUSED_MS = 5_000;

/**
 * Ends a drain that is to remove its node. The machine is refused first: its kubelet would make a deleted node again within
 * seconds. Each step may be the last of this process: the next one finds what is left to be done.
 */
export async function removeNode(
  drain: MachineDrain,
  ports: RemovalPorts,
  { signal, log }: ReconcileContext,
): Promise<Result> {
  const { clock, fence } = ports;
  const { requested, nodeName } = drain.spec;
  if (requested?.remove !== true || drain.status?.state !== "Drained" || !isApproved(drain) || isRemoved(drain))
    return undefined;
  const joins = await ports.liveJoins(nodeName, signal);
  const beganMs = removalBeganMs(drain);
  if (joins.length > 0) {
    fence();
    if (beganMs === undefined) {
      await ports.writeStatus(drain, removedStatus(drain, false, clock.wallNow()), signal);
      return { requeueAfterMs: 1 };
    }
    for (const join of joins) await ports.markRemoved(join, signal);
    return { requeueAfterMs: REFUSED_MS };
  }
  const leftMs = (beganMs ?? 0) + REFUSED_MS - clock.wallNow().getTime();
  if (leftMs > 0) return { requeueAfterMs: leftMs };
  const node = await ports.liveNode(nodeName, signal);
  if (node !== undefined) {
    // It takes pods again, as a person wants it: it is not empty any more. Of a machine that is refused no pod can run there,
    // and the machine itself may have uncordoned its node before, or made it anew.
    if (!node.spec.unschedulable && beganMs === undefined) {
      log.warn({ node: nodeName }, "a node that is to be removed was uncordoned: it stays");
      return { requeueAfterMs: AFTER_UNCORDON_MS };
    }
    if (cordonOf(node) === undefined || !node.spec.unschedulable) {
      // Admission lets this process delete only nodes with its mark.
      fence();
      await ports.writeNode(node, { uid: drain.metadata.uid, isOurs: false }, true, signal);
      return { requeueAfterMs: 1 };
    }
    fence();
    await ports.deleteNode(node, signal);
    log.info({ node: nodeName }, "node deleted");
  }
  fence();
  await ports.writeStatus(drain, removedStatus(drain, true, clock.wallNow()), signal);
  return undefined;
}

/** Undefined: no machine was refused for this drain. */
function removalBeganMs({ status }: MachineDrain): number | undefined {
  const began = status?.conditions?.find(({ type, status: is }) => type === "Removed" && is === "False");
  return began && Date.parse(began.lastTransitionTime);
}

function isRemoved({ status }: MachineDrain): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Removed" && is === "True") === true;
}
