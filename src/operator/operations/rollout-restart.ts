import { RESTARTED_AT, ROLLOUT_RESTART } from "../../crds/operations/rollout-restart.ts";
import type { WorkloadKind } from "../../crds/operations/workload-kinds.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Workload } from "./objects.ts";
import { workloadResources } from "./objects.ts";
import { type OperationCall, OperationError, operation } from "./operation.ts";

/** A workload's status is written while it rolls, and each write moves the resourceVersion. */
const TRIES = 6;

export const rolloutRestart = operation(ROLLOUT_RESTART, {
  timeLimitMs: 60_000,
  async run(call, signal) {
    const { kind, namespace, name } = call.params;
    for (let attempt = 1; ; attempt += 1) {
      const workload = await existing(call, signal);
      if (workload.spec.paused) throw new OperationError(`${kind} ${name} is paused; resume it first`);
      if (restartedAt(workload) === stampOf(call)) return { namespace, kind, name, restartedAt: stampOf(call) };
      try {
        await call.effect.send(() => stamp(call, workload, signal));
      } catch (error) {
        if (!(error instanceof ApiError && error.isConflict) || attempt === TRIES) throw error;
      }
    }
  },
  async verify(call, done, signal) {
    const { kind, name } = call.params;
    const workload = await existing(call, signal);
    if (restartedAt(workload) === stampOf(call)) return { ...done, generation: workload.metadata.generation };
    throw new OperationError(`${kind} ${name} does not carry this restart's mark; it was restarted again`);
  },
});

type RestartCall = OperationCall<{ readonly namespace: string; readonly kind: WorkloadKind; readonly name: string }>;

async function existing({ client, params }: RestartCall, signal: AbortSignal): Promise<Workload> {
  const { kind, namespace, name } = params;
  const workload = await client.get<Workload>(workloadResources[kind], { namespace, name }, signal);
  if (workload === undefined) throw new OperationError(`there is no ${kind} ${name} in ${namespace}`);
  return workload;
}

/** The same text in every try, so that a retry of an answered-but-lost request changes nothing. */
function stampOf({ startedAt }: RestartCall): string {
  return startedAt.toISOString();
}

function restartedAt({ spec }: Workload): string | undefined {
  return spec.template.metadata?.annotations?.[RESTARTED_AT];
}

/** With the resourceVersion that was read: never on top of a change that we have not seen. */
function stamp(call: RestartCall, { metadata }: Workload, signal: AbortSignal): Promise<Workload> {
  const { kind, namespace, name } = call.params;
  const body = {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { template: { metadata: { annotations: { [RESTARTED_AT]: stampOf(call) } } } },
  };
  return call.client.patch<Workload>(workloadResources[kind], { namespace, name }, { type: "merge", body }, {}, signal);
}
