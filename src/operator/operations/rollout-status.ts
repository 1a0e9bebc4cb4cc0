import { ROLLOUT_STATUS } from "../../crds/operations/rollout-status.ts";
import type { WorkloadKind } from "../../crds/operations/workload-kinds.ts";
import { type Workload, workloadResources } from "./objects.ts";
import { OperationError, operation } from "./operation.ts";

export const rolloutStatus = operation(ROLLOUT_STATUS, {
  timeLimitMs: 30_000,
  async run({ client, params: { namespace, kind, name } }, signal) {
    const workload = await client.get<Workload>(workloadResources[kind], { namespace, name }, signal);
    if (workload === undefined) throw new OperationError(`there is no ${kind} ${name} in ${namespace}`);
    return { namespace, kind, name, ...rolloutOf(kind, workload) };
  },
});

interface Rollout {
  readonly complete: boolean;
  readonly message: string;
  readonly desired: number;
  readonly updated: number;
  readonly available: number;
}

/** The rules of `kubectl rollout status`. Source: kubectl pkg/polymorphichelpers/rollout_status.go. */
export function rolloutOf(kind: WorkloadKind, { metadata, spec, status = {} }: Workload): Rollout {
  const daemon = kind === "daemonset";
  const desired = daemon ? (status.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1);
  const updated = (daemon ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const available = (daemon ? status.numberAvailable : status.availableReplicas) ?? 0;
  const counts = { desired, updated, available };
  const waiting = (message: string): Rollout => ({ complete: false, message, ...counts });

  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return waiting("the controller has not seen the change yet");
  const progressing = status.conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") return waiting("the rollout exceeded its progress deadline");
  // A partition holds the pods below it back on purpose.
  const wanted = Math.max(desired - (spec.updateStrategy?.rollingUpdate?.partition ?? 0), 0);
  if (updated < wanted) return waiting(`${updated} of ${wanted} pods are updated`);
  const total = status.replicas ?? 0;
  if (kind === "deployment" && total > updated) return waiting(`${total - updated} old pods are still there`);
  if (available < desired) return waiting(`${available} of ${desired} pods are available`);
  return { complete: true, message: "the rollout is complete", ...counts };
}
