import type { syncRoutes } from "../../../contract/deployments/sync.ts";
import type { BodyOf } from "../../../contract/wire/route.ts";
import type { Call } from "../../kernel/call/call.ts";
import { capped } from "./observations.ts";

type ReconcileBody = BodyOf<(typeof syncRoutes)["reconcile"]>;

/** What a report says of resources. */
export type ToldResources = Required<
  Pick<ReconcileBody, "resourceHeartbeats" | "observedInventoryBatches" | "removedHeartbeats">
> &
  Pick<ReconcileBody, "resourceLevel">;

/**
 * What of a report is not older than the last full one. A full report forgets what is gone, so nothing stored would show
 * that a call which was held up on its way tells of before: its resources would come back.
 *
 * @param fullAt of the last full report; null: there was none.
 */
export function withoutLate(
  { now }: Pick<Call, "now">,
  body: ReconcileBody,
  fullAt: Date | null,
): ToldResources & { readonly observedAt: string | undefined } {
  const { resourceHeartbeats = [], observedInventoryBatches = [], removedHeartbeats = [], resourceLevel } = body;
  const isLate = (at: string | undefined): boolean => at !== undefined && fullAt !== null && capped(at, now) < fullAt;
  const [reported] = [resourceLevel, ...resourceHeartbeats, ...observedInventoryBatches].filter(
    (each) => each !== undefined,
  );
  const observedAt = reported?.observedAt;
  const level = resourceLevel && isLate(resourceLevel.observedAt) ? { ...resourceLevel, full: false } : resourceLevel;
  return {
    resourceHeartbeats: resourceHeartbeats.filter((each) => !isLate(each.observedAt)),
    // A full report forgets lists of the operator alone.
    observedInventoryBatches: observedInventoryBatches.filter(
      (each) => each.sourceKind !== "operator" || !isLate(each.observedAt),
    ),
    removedHeartbeats: isLate(observedAt) ? [] : removedHeartbeats,
    ...(level && { resourceLevel: level }),
    observedAt,
  };
}
