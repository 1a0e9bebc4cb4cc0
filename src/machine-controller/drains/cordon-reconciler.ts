import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { cordonOf, decideCordon, type NodePorts } from "./cordon.ts";
import type { DrainNode } from "./shapes.ts";
import type { Ordered } from "./turn.ts";

/** All the I/O of this reconciler, as functions. */
export interface CordonPorts extends NodePorts {
  readonly node: (name: string) => DrainNode | undefined;
  readonly drains: () => Iterable<Ordered>;
  readonly liveDrainsOf: (nodeName: string, signal: AbortSignal) => Promise<readonly Ordered[]>;
  /** @param uid of the drain whose cordon it was */
  readonly uncordoned: (nodeName: string, uid: string) => void;
}

const AFTER_CONFLICT_MS = 20;

/**
 * One node: undoes the cordon of a drain that was deleted, also while no machine controller ran. Nothing but the mark on
 * the node is needed for it.
 */
export async function reconcileCordon(name: string, ports: CordonPorts, context: ReconcileContext): Promise<Result> {
  const { signal, log } = context;
  const cached = ports.node(name);
  if (cached === undefined || decideCordon(cached, ports.drains()).do === "nothing") return undefined;
  // The cache may not have the drain yet under which another process has just cordoned the node.
  const node = await ports.liveNode(name, signal);
  if (node === undefined) return undefined;
  const decision = decideCordon(node, await ports.liveDrainsOf(name, signal));
  if (decision.do === "nothing") return undefined;
  ports.fence();
  try {
    if (decision.do === "hand over") {
      const { to, isOurs } = decision;
      await ports.writeNode(node, { uid: to.metadata.uid, isOurs }, node.spec.unschedulable, signal);
      log.info({ node: name, drain: to.metadata.name }, "cordon handed over to another drain");
      return undefined;
    }
    await ports.writeNode(node, undefined, node.spec.unschedulable && !decision.uncordon, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    return { requeueAfterMs: AFTER_CONFLICT_MS };
  }
  log.info({ node: name, uncordoned: decision.uncordon }, "mark of a drain that is gone removed");
  if (decision.uncordon) ports.uncordoned(name, cordonOf(node)?.uid ?? "");
  return undefined;
}
