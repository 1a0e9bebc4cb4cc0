import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { ENDED_KEPT_MS, endedAt, isOfEarlierNode } from "../../crds/retention.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";

export interface EndedDrainPorts {
  readonly now: () => Date;
  readonly drain: (key: string) => MachineDrain | undefined;
  readonly node: (name: string) => { readonly metadata: { readonly creationTimestamp: string } } | undefined;
  readonly delete: (drain: MachineDrain, signal: AbortSignal) => Promise<void>;
}

/**
 * Deletes one drain of the platform a week after its end, when its node is gone, also when another one has its name. While
 * the node is there the drain stays, because deleting it would give the node its pods back. A drain that a person made is the person's to delete.
 */
export async function reconcileEndedDrain(
  key: string,
  ports: EndedDrainPorts,
  context: ReconcileContext,
): Promise<Result> {
  const drain = ports.drain(key);
  if (drain === undefined || drain.metadata.deletionTimestamp !== undefined) return undefined;
  const { spec, status, metadata } = drain;
  if (spec.requested === undefined || (status?.state !== "Drained" && status?.state !== "Failed")) return undefined;
  const node = ports.node(spec.nodeName);
  if (node !== undefined && !isOfEarlierNode(drain, node.metadata.creationTimestamp)) return undefined;
  const left = endedAt(drain).getTime() + ENDED_KEPT_MS - ports.now().getTime();
  if (left > 0) return { requeueAfterMs: left };
  try {
    await ports.delete(drain, context.signal);
    context.log.info({ drain: metadata.name, node: spec.nodeName }, "a drain that ended a week ago is deleted");
  } catch (error) {
    if (!(error instanceof ApiError && (error.isNotFound || error.isConflict))) throw error;
  }
  return undefined;
}
