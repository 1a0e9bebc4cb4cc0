import type { Clock } from "../../base/clock.ts";
import { MACHINE_LABEL } from "../../crds/group.ts";
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
  /** This very one. It may stay for as long as finalizers hold it. */
  readonly deleteNode: (node: DrainNode, signal: AbortSignal) => Promise<void>;
  /** With the resourceVersion that was read. */
  readonly writeStatus: (drain: MachineDrain, status: MachineDrainStatus, signal: AbortSignal) => Promise<MachineDrain>;
}

/**
 * From the machine's label to the end of its node. Each API server knows the joins of removed machines a moment late: a
 * machine that asks without end would make its node again in that moment, Ready and open to pods.
 */
const REFUSED_MS = 5_000;
/** Between two looks at a node that lacks the label of a machine. */
const UNLABELLED_MS = 60_000;
/** Between two looks at a node that is being deleted. */
const HELD_MS = 5_000;

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
  if (requested?.remove !== true || drain.status?.state !== "Drained" || !isApproved(drain)) return undefined;
  const removed = removedOf(drain);
  // Of a node that took pods again since it is not known what runs there: only the drain's deletion leads on.
  if (removed?.reason === "NodeDeleted" || removed?.reason === "Uncordoned") return undefined;
  const joins = await ports.liveJoins(nodeName, signal);
  const beganMs = removed && Date.parse(removed.lastTransitionTime);
  if (joins.length > 0) {
    fence();
    if (beganMs === undefined) {
      await ports.writeStatus(drain, removedStatus(drain, "InProgress", clock.wallNow()), signal);
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
      fence();
      await ports.writeStatus(drain, removedStatus(drain, "Uncordoned", clock.wallNow()), signal);
      log.warn({ node: nodeName }, "a node that is to be removed was uncordoned: it stays");
      return undefined;
    }
    if (cordonOf(node) === undefined || !node.spec.unschedulable) {
      // Admission lets this process delete only nodes with its mark.
      fence();
      await ports.writeNode(node, { uid: drain.metadata.uid, isOurs: false }, true, signal);
      return { requeueAfterMs: 1 };
    }
    fence();
    // Admission lets this process delete no other: a person may, or says with the label that it is a machine.
    if (node.metadata.labels[MACHINE_LABEL] !== "true") {
      if (removed?.reason !== "NotLabelled")
        await ports.writeStatus(drain, removedStatus(drain, "NotLabelled", clock.wallNow()), signal);
      return { requeueAfterMs: UNLABELLED_MS };
    }
    if (node.metadata.deletionTimestamp === undefined) await ports.deleteNode(node, signal);
    if ((await ports.liveNode(nodeName, signal))?.metadata.uid === node.metadata.uid) {
      if (removed?.reason !== "NodeHeld")
        await ports.writeStatus(drain, removedStatus(drain, "NodeHeld", clock.wallNow()), signal);
      return { requeueAfterMs: HELD_MS };
    }
    log.info({ node: nodeName }, "node deleted");
  }
  fence();
  await ports.writeStatus(drain, removedStatus(drain, "NodeDeleted", clock.wallNow()), signal);
  return undefined;
}

/** Undefined: nothing was done for it. InProgress: its machine is refused. */
function removedOf({ status }: MachineDrain) {
  return status?.conditions?.find(({ type }) => type === "Removed");
}
