import { REMOVED_LABEL } from "../../crds/group.ts";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { ENDED_KEPT_MS, endedAt } from "../../crds/retention.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";

export interface RetentionPorts {
  readonly now: () => Date;
  readonly fence: () => void;
  /** What keeps this process from writing joins; undefined: nothing. */
  readonly obstacle: () => string | undefined;
  readonly join: (key: string) => MachineJoin | undefined;
  /** This very version. */
  readonly delete: (join: MachineJoin, signal: AbortSignal) => Promise<void>;
}

/**
 * Whether a join is deleted some time after its end. A removed machine's join is what admission refuses its node by, and
 * one that a person refused would be let in by an automatic pool if it could ask again: both stay until a person deletes
 * them. The policy of the machine controller holds it to the same.
 */
export function isKeptForGood({ metadata, spec, status }: MachineJoin): boolean {
  if (status?.state !== "Denied" && status?.state !== "Expired") return true;
  return spec.deniedReason !== undefined || metadata.labels?.[REMOVED_LABEL] !== undefined;
}

/** Deletes one join that was denied by a rule, or has expired, a week after that. */
export async function reconcileEnded(key: string, ports: RetentionPorts, context: ReconcileContext): Promise<Result> {
  const join = ports.join(key);
  if (join === undefined || join.metadata.deletionTimestamp !== undefined || isKeptForGood(join)) return undefined;
  if (ports.obstacle() !== undefined) return undefined;
  const left = endedAt(join).getTime() + ENDED_KEPT_MS - ports.now().getTime();
  if (left > 0) return { requeueAfterMs: left };
  ports.fence();
  try {
    await ports.delete(join, context.signal);
    context.log.info(
      { join: join.metadata.name, state: join.status?.state },
      "a join that ended a week ago is deleted",
    );
  } catch (error) {
    // It is gone, or a person has written it since: the cache will say so.
    if (!(error instanceof ApiError && (error.isNotFound || error.isConflict))) throw error;
  }
  return undefined;
}
