import { SCALE } from "../../crds/operations/scale.ts";
import type { SCALABLE_KINDS } from "../../crds/operations/workload-kinds.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { workloadResources } from "./objects.ts";
import { type OperationCall, OperationError, operation } from "./operation.ts";

/** A workload that is rolling or autoscaled moves its resourceVersion between our read and our write. */
const TRIES = 6;

export const scale = operation(SCALE, {
  timeLimitMs: 60_000,
  async run(call, signal) {
    const { client, effect, params } = call;
    const { namespace, kind, name, replicas } = params;
    for (let attempt = 1; ; attempt += 1) {
      const before = await currentScale(call, signal);
      const done = { namespace, kind, name, from: before.replicas, to: replicas };
      if (before.replicas === replicas) return done;
      const body = { metadata: { resourceVersion: before.resourceVersion }, spec: { replicas } };
      const patch = { type: "merge", body } as const;
      const write = (): Promise<unknown> =>
        client.patch(workloadResources[kind], { namespace, name }, patch, { subresource: "scale" }, signal);
      try {
        await effect.send(write);
        return done;
      } catch (error) {
        if (!(error instanceof ApiError && error.isConflict) || attempt === TRIES) throw error;
      }
    }
  },
  async verify(call, done, signal) {
    const { replicas, running } = await currentScale(call, signal);
    if (replicas === call.params.replicas) return { ...done, running };
    throw new OperationError(
      `${call.params.name} is set to ${replicas} replicas; something else scaled it (an autoscaler?)`,
    );
  },
});

interface CurrentScale {
  readonly resourceVersion: string;
  readonly replicas: number;
  /** Pods that there are now; it follows. */
  readonly running: number;
}

async function currentScale(
  { client, params }: OperationCall<{ namespace: string; kind: (typeof SCALABLE_KINDS)[number]; name: string }>,
  signal: AbortSignal,
): Promise<CurrentScale> {
  const { namespace, kind, name } = params;
  const found = await client.getScale(workloadResources[kind], { namespace, name }, signal);
  if (found === undefined) throw new OperationError(`there is no ${kind} ${name} in ${namespace}`);
  const { metadata, spec, status } = found;
  // Go leaves a 0 out of the JSON.
  return { resourceVersion: metadata.resourceVersion, replicas: spec.replicas ?? 0, running: status.replicas };
}
