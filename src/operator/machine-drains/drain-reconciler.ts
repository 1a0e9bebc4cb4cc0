import type { Clock } from "../../base/clock.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { type Condition, withCondition } from "../../kube/objects/conditions.ts";
import { type DrainFacts, drainVerdict } from "../gate/drain-gate.ts";

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface DrainPorts {
  readonly clock: Pick<Clock, "wallNow">;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  readonly drain: (key: string) => MachineDrain | undefined;
  readonly grants: () => readonly AccessGrant[];
  readonly facts: () => Pick<DrainFacts, "policy" | "deployments" | "named">;
  readonly writeStatus: (drain: MachineDrain, status: MachineDrainStatus, signal: AbortSignal) => Promise<unknown>;
}

/** A window begins and ends by time alone. */
const AGAIN_MS = 15_000;

/**
 * Writes the condition Approved of a drain that the platform asked for, and nothing else of it: the machine controller
 * acts by it. A drain that a person made has none.
 */
export async function reconcileDrain(key: string, ports: DrainPorts, { signal }: ReconcileContext): Promise<Result> {
  const drain = ports.drain(key);
  if (drain === undefined || drain.metadata.deletionTimestamp !== undefined || isOver(drain)) return undefined;
  const now = ports.clock.wallNow();
  const verdict = drainVerdict({ drain, grants: ports.grants(), ...ports.facts(), now });
  if (verdict === undefined) return undefined;
  const before = (drain.status?.conditions ?? []) as readonly Condition[];
  const approved = {
    type: "Approved",
    status: verdict.approved ? ("True" as const) : ("False" as const),
    reason: verdict.reason,
    message: lineWithoutCommands(verdict.message, 1_024),
    observedGeneration: drain.metadata.generation ?? 0,
  };
  const conditions = withCondition(before, approved, now).map((each) => ({ ...each }));
  ports.fence();
  await ports.writeStatus(drain, { ...drain.status, conditions }, signal);
  return { requeueAfterMs: AGAIN_MS };
}

/** A removal is judged until its node is gone, though the node is drained. */
function isOver({ spec, status }: MachineDrain): boolean {
  return status?.state === "Failed" || (status?.state === "Drained" && spec.requested?.remove !== true);
}
