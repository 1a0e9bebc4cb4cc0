import type {
  ObservedResource,
  ResourceHeartbeat,
  ResourceStatus,
} from "../../contract/resources/resource-heartbeat.ts";
import { redactText } from "../../crds/redact.ts";
import { apiVersionOf } from "../../kube/objects/resource.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import { WORKLOADS, type WorkloadKind } from "../kernel/workload-kinds.ts";
import type { Observation } from "./ledger.ts";
import type { Workload, WorkloadCondition } from "./workload.ts";

/** One workload of an opened namespace. */
export interface WorkloadRef {
  readonly namespace: string;
  readonly kind: WorkloadKind;
  readonly name: string;
}

/** Pods in one heartbeat: the ones that are not ready first. */
const MAX_PODS = 50;
const MAX_CONDITIONS = 20;
const MAX_LABELS = 32;
/** `resourceId` in the contract. */
const MAX_ID = 253;
const MAX_LINE = 1_024;
/** With labels they stay below the contract's 16 KiB of each map. */
const MAX_IMAGES = 10;
const MAX_IMAGE = 1_000;

const NOT_COLLECTED: ResourceStatus["collectionIssues"] = [
  { reason: "not-installed", severity: "info", source: "metrics", message: "cpu and memory are not collected" },
  { reason: "forbidden", severity: "info", source: "events", message: "the agent may not read events" },
];

const UNREADABLE = {
  reason: "forbidden",
  severity: "error",
  source: "kubernetes",
  message: "the agent may not read this kind any more; what is shown is the last that it saw",
} as const;

/** The name of the list of a kind in a namespace (§11.6). */
export function scopeOf(namespace: string, kind: WorkloadKind): string {
  return `kubernetes:${apiVersionOf(WORKLOADS[kind].resource)}:${kind}:${namespace}`;
}

export function identityOf({ namespace, kind, name }: WorkloadRef): string {
  return `${apiVersionOf(WORKLOADS[kind].resource)}:${kind}:${namespace}:${name}`;
}

/** Unique in a deployment, and free of what a path would have to escape. */
export function idOf({ namespace, kind, name }: WorkloadRef): string {
  return `${WORKLOADS[kind].reportedAs}.${namespace}.${name}`;
}

function refOf({ kind, metadata }: Pick<Workload, "kind" | "metadata">): WorkloadRef {
  return { namespace: metadata.namespace ?? "", kind, name: metadata.name };
}

/** What is told of a workload. */
export function observationOf(workload: Workload, pods: readonly Pod[], now: Date): Observation {
  const state = workload.stateOf({ now, pods });
  const heartbeat = heartbeatOf(workload, state, pods, now);
  return { row: rowOf(workload, state), heartbeat: heartbeat.resourceId.length <= MAX_ID ? heartbeat : undefined };
}

/** Whether only an event can change it. What waits for time, a deadline of a rollout or of a pod's end, is looked at again. */
export function isSettled({ row }: Observation, pods: readonly Pod[]): boolean {
  if (pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return false;
  return row.health === "healthy" && (row.lifecycle === "running" || row.lifecycle === "stopped");
}

/** The same while the kind may not be read: its health is not known, and what is known is old. */
export function unreadable({ row, heartbeat }: Observation): Observation {
  const status = { ...heartbeat?.data.data.status, health: "unknown", stale: true, collectionIssues: [UNREADABLE] };
  return {
    row: { ...row, health: "unknown", providerStale: true, collectionIssues: [UNREADABLE] },
    heartbeat: heartbeat && {
      ...heartbeat,
      data: { ...heartbeat.data, data: { ...heartbeat.data.data, status: status as ResourceStatus } },
    },
  };
}

type State = Pick<ResourceStatus, "health" | "lifecycle" | "message">;

function heartbeatOf(workload: Workload, state: State, pods: readonly Pod[], now: Date): ResourceHeartbeat {
  const { kind, metadata, counts, conditions, observedGeneration } = workload;
  const status: ResourceStatus = {
    ...state,
    partial: true,
    stale: false,
    collectionIssues: NOT_COLLECTED,
  };
  const notReadyFirst = pods.toSorted(
    (a, b) => Number(isReady(a)) - Number(isReady(b)) || (a.metadata.name < b.metadata.name ? -1 : 1),
  );
  const data = {
    status,
    backend: "kubernetes" as const,
    workloadKind: WORKLOADS[kind].reportedAs,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    replicas: counts,
    pods: notReadyFirst.slice(0, MAX_PODS).map(podOf),
    events: [],
    restarts: pods.reduce((sum, pod) => sum + restartsOf(pod), 0),
    workload: {
      desiredReplicas: counts.desired,
      readyReplicas: counts.ready,
      availableReplicas: counts.available,
      updatedReplicas: counts.updated,
      observedGeneration,
      desiredGeneration: metadata.generation,
      conditions: conditions.slice(0, MAX_CONDITIONS).map(conditionOf),
    },
  };
  return {
    resourceId: idOf(refOf(workload)),
    resourceType: "container",
    controllerPlatform: "kubernetes",
    backend: "kubernetes",
    observedAt: now.toISOString(),
    data: { resourceType: "container", data },
    raw: [],
  };
}

function podOf(pod: Pod): object {
  const { metadata, spec, status } = pod;
  const states = status.containerStatuses.map(({ state }) => state);
  const waiting = states.find((state) => state.waiting !== undefined)?.waiting?.reason;
  const terminated = states.find((state) => state.terminated !== undefined)?.terminated?.reason;
  return {
    name: metadata.name,
    uid: metadata.uid,
    phase: status.phase || null,
    ready: isReady(pod),
    restartCount: restartsOf(pod),
    waitingReason: line(waiting),
    terminatedReason: line(terminated),
    nodeName: spec.nodeName ?? null,
    podIp: status.podIP ?? null,
    ownerReferences: metadata.ownerReferences.slice(0, 10).map(({ kind, name, uid }) => ({ kind, name, uid })),
  };
}

function isReady({ status }: Pod): boolean {
  return status.conditions.some(({ type, status: value }) => type === "Ready" && value === "True");
}

function restartsOf({ status }: Pod): number {
  return status.containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

function conditionOf({ type, status, reason, message, lastTransitionTime }: WorkloadCondition): object {
  return {
    type,
    status,
    reason: line(reason),
    // Controllers quote webhooks, and those may quote what they refused. Taken out before the cut, which could halve
    // it.
    message:
      message === undefined ? null : storable(redactText(message.slice(0, 8_192), () => undefined).slice(0, 4_096)),
    lastTransitionTime: lastTransitionTime || null,
  };
}

function rowOf(workload: Workload, { health, lifecycle, message }: State): ObservedResource {
  const { kind, metadata, counts, images } = workload;
  const ref = refOf(workload);
  const id = idOf(ref);
  return {
    rawIdentity: identityOf(ref),
    providerKind: kind,
    displayName: metadata.name,
    ...{ health, lifecycle, message: message ?? null },
    partial: false,
    providerStale: false,
    namespace: metadata.namespace ?? null,
    resourceTypeHint: "container",
    version: line(metadata.labels["app.kubernetes.io/version"])?.slice(0, 256) ?? null,
    managedResourceId: id.length <= MAX_ID ? id : null,
    counts: { desired: counts.desired, current: counts.current, ready: counts.ready },
    labels: Object.fromEntries(Object.entries(metadata.labels).slice(0, MAX_LABELS)),
    attributes: { images: images.slice(0, MAX_IMAGES).map((image) => storable(image.slice(0, MAX_IMAGE))) },
  };
}

function line(text: string | undefined): string | null {
  return text === undefined || text === "" ? null : storable(text.slice(0, MAX_LINE));
}

/** No database stores NUL or half a character, which a cut may leave: one such text would hold up the whole report. */
function storable(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
