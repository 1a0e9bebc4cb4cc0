import { DESCRIBE } from "../../crds/operations/describe.ts";
import { printableLine } from "../../crds/printable.ts";
import { resources } from "../../kube/objects/resource.ts";
import { newestEvents } from "./events.ts";
import type { Container, ObjectCondition, Pod, Workload } from "./objects.ts";
import { workloadResources } from "./objects.ts";
import { type OperationCall, OperationError, operation } from "./operation.ts";

/**
 * Chosen fields, not the object: no annotations (kubectl keeps whole manifests there), no environment values, no
 * arguments. Those are where secrets live.
 */
export const describe = operation(DESCRIBE, {
  timeLimitMs: 30_000,
  async run(call, signal) {
    const { namespace, kind, name } = call.params;
    const key = { namespace, name };
    const shown =
      kind === "pod"
        ? podView(await call.client.get<Pod>(resources.pods, key, signal), call)
        : workloadView(await call.client.get<Workload>(workloadResources[kind], key, signal), call);
    if (shown === undefined) throw new OperationError(`there is no ${kind} ${name} in ${namespace}`);
    const eventKind = kind === "pod" ? resources.pods.kind : workloadResources[kind].kind;
    const events = await newestEvents(call, { namespace, name, kind: eventKind, limit: 20 }, signal);
    return { kind, namespace, name, ...shown, events };
  },
});

type Redact = Pick<OperationCall<never>, "redact">;

function podView(pod: Pod | undefined, redact: Redact): object | undefined {
  if (pod === undefined) return undefined;
  const { metadata, spec, status } = pod;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  const statuses = status?.containerStatuses ?? [];
  return {
    createdAt: metadata.creationTimestamp,
    labels: metadata.labels ?? {},
    phase: status?.phase ?? "Unknown",
    terminating: metadata.deletionTimestamp !== undefined,
    ...(spec.nodeName !== undefined && { node: spec.nodeName }),
    ...(owner && { controlledBy: `${owner.kind}/${owner.name}` }),
    containers: spec.containers.map((container) => {
      const state = statuses.find(({ name }) => name === container.name);
      return {
        ...containerView(container),
        ready: state?.ready ?? false,
        restarts: state?.restartCount ?? 0,
        state: Object.entries(state?.state ?? {}).map(([name, { reason, exitCode }]) => ({ name, reason, exitCode })),
      };
    }),
    conditions: (status?.conditions ?? []).map((condition) => conditionView(condition, redact)),
  };
}

function workloadView(workload: Workload | undefined, redact: Redact): object | undefined {
  if (workload === undefined) return undefined;
  const { metadata, spec, status } = workload;
  return {
    createdAt: metadata.creationTimestamp,
    labels: metadata.labels ?? {},
    ...(spec.replicas !== undefined && { replicas: spec.replicas }),
    paused: spec.paused ?? false,
    strategy: spec.strategy?.type ?? spec.updateStrategy?.type,
    selector: spec.selector?.matchLabels ?? {},
    containers: spec.template.spec.containers.map(containerView),
    status: {
      updated: status?.updatedReplicas ?? status?.updatedNumberScheduled ?? 0,
      ready: status?.readyReplicas ?? status?.numberReady ?? 0,
      available: status?.availableReplicas ?? status?.numberAvailable ?? 0,
    },
    conditions: (status?.conditions ?? []).map((condition) => conditionView(condition, redact)),
  };
}

function containerView({ name, image, env, ports, resources: wants }: Container): object {
  return {
    name,
    image,
    environmentNames: (env ?? []).map((variable) => variable.name),
    ports: (ports ?? []).map(({ containerPort, protocol }) => `${containerPort}/${protocol ?? "TCP"}`),
    requests: wants?.requests ?? {},
    limits: wants?.limits ?? {},
  };
}

function conditionView({ type, status, reason, message }: ObjectCondition, { redact }: Redact): object {
  return { type, status, reason, message: redact(printableLine(message ?? "", 512)) };
}
