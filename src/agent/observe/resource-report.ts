import type {
  ObservedInventoryBatch,
  ObservedResource,
  ResourceHeartbeat,
  ResourceStatus,
} from "../../contract/resources/resource-heartbeat.ts";
import { redactText } from "../../crds/redact.ts";
import { apiVersionOf } from "../../kube/objects/resource.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import type { WorkloadState } from "../../kube/workload-state/state.ts";
import { HEALTHS } from "../../kube/workload-state/words.ts";
import { WORKLOADS } from "../kernel/workload-kinds.ts";
import type { Workload, WorkloadCondition } from "./workload.ts";

/** All workloads of one kind in one namespace, as the caches have them. */
export interface WorkloadList {
  readonly namespace: string;
  readonly kind: Workload["kind"];
  /** False: the list was refused or has not come yet; what is missing from it must not be taken for gone. */
  readonly complete: boolean;
  readonly workloads: readonly Workload[];
}

/** One call of `sync/reconcile` carries one of these. */
export interface ReportPart {
  readonly resourceHeartbeats: readonly ResourceHeartbeat[];
  readonly observedInventoryBatches: readonly ObservedInventoryBatch[];
}

// Bounds of the contract (§11.6), and of a body: 1 MiB with room for the rest of the call.
const MAX_HEARTBEATS = 100;
const MAX_BATCHES = 20;
const MAX_ROWS = 500;
const MAX_PART_BYTES = 786_432;
/** Resources with a heartbeat of their own; beyond, the unhealthiest have one and the inventory has them all. */
const MAX_HEARTBEATS_IN_ALL = 500;
/** Pods in one heartbeat: the ones that are not ready first. */
const MAX_PODS = 50;
const MAX_CONDITIONS = 20;
const MAX_LABELS = 32;
/** `resourceId` in the contract. */
const MAX_ID = 253;
const MAX_LINE = 1_024;

const NOT_COLLECTED: ResourceStatus["collectionIssues"] = [
  { reason: "not-installed", severity: "info", source: "metrics", message: "cpu and memory are not collected" },
  { reason: "forbidden", severity: "info", source: "events", message: "the agent may not read events" },
];

/**
 * Health and inventory of a deployment's workloads, cut into calls that the platform takes.
 *
 * @param podsOf the workload's pods, from the cache.
 */
export function resourceReport(
  lists: readonly WorkloadList[],
  podsOf: (workload: Workload) => readonly Pod[],
  now: Date,
): readonly ReportPart[] {
  const all = lists
    .flatMap(({ workloads }) => workloads)
    .map((workload) => {
      const pods = podsOf(workload);
      return { workload, pods, state: workload.stateOf({ now, pods }) };
    });
  const stateOf = new Map(all.map(({ workload, state }) => [workload, state]));
  const worstFirst = all.toSorted(
    (a, b) =>
      HEALTHS.indexOf(a.state.health) - HEALTHS.indexOf(b.state.health) ||
      (idOf(a.workload) < idOf(b.workload) ? -1 : 1),
  );
  const heartbeats = worstFirst
    .filter(({ workload }) => idOf(workload).length <= MAX_ID)
    .slice(0, MAX_HEARTBEATS_IN_ALL)
    .map((each) => heartbeatOf(each, now));
  return parts(
    heartbeats,
    lists.flatMap((list) => batchesOf(list, stateOf, now)),
  );
}

/** Fills calls in order; each bound starts the next call. */
function parts(
  heartbeats: readonly ResourceHeartbeat[],
  batches: readonly ObservedInventoryBatch[],
): readonly ReportPart[] {
  let part = {
    resourceHeartbeats: [] as ResourceHeartbeat[],
    observedInventoryBatches: [] as ObservedInventoryBatch[],
  };
  let bytes = 0;
  const all = [part];
  const makeRoom = (item: object, list: readonly unknown[], bound: number): void => {
    const size = Buffer.byteLength(JSON.stringify(item));
    if (list.length >= bound || (bytes > 0 && bytes + size > MAX_PART_BYTES)) {
      part = { resourceHeartbeats: [], observedInventoryBatches: [] };
      bytes = 0;
      all.push(part);
    }
    bytes += size;
  };
  for (const heartbeat of heartbeats) {
    makeRoom(heartbeat, part.resourceHeartbeats, MAX_HEARTBEATS);
    part.resourceHeartbeats.push(heartbeat);
  }
  for (const batch of batches) {
    makeRoom(batch, part.observedInventoryBatches, MAX_BATCHES);
    part.observedInventoryBatches.push(batch);
  }
  return all;
}

/** Unique in a deployment, and free of what a path would have to escape. */
function idOf({ kind, metadata }: Workload): string {
  return `${WORKLOADS[kind].reportedAs}.${metadata.namespace ?? ""}.${metadata.name}`;
}

/** A workload with its Pods, and what they add up to. */
interface Judged {
  readonly workload: Workload;
  readonly pods: readonly Pod[];
  readonly state: WorkloadState;
}

function heartbeatOf({ workload, pods, state }: Judged, now: Date): ResourceHeartbeat {
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
    resourceId: idOf(workload),
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
    message: message === undefined ? null : redactText(message.slice(0, 8_192), () => undefined).slice(0, 4_096),
    lastTransitionTime: lastTransitionTime || null,
  };
}

/**
 * The whole list of a kind in a namespace; several parts when it is long, so that absent rows are removed only once.
 */
function batchesOf(
  { namespace, kind, complete, workloads }: WorkloadList,
  stateOf: ReadonlyMap<Workload, WorkloadState>,
  now: Date,
): readonly ObservedInventoryBatch[] {
  const count = Math.max(1, Math.ceil(workloads.length / MAX_ROWS));
  return Array.from({ length: count }, (_, index) => ({
    sourceKind: "operator" as const,
    inventoryScope: `kubernetes:${apiVersionOf(WORKLOADS[kind].resource)}:${kind}:${namespace}`,
    controllerPlatform: "kubernetes" as const,
    backend: "kubernetes" as const,
    observedAt: now.toISOString(),
    complete,
    resources: workloads
      .slice(index * MAX_ROWS, (index + 1) * MAX_ROWS)
      .map((workload) => rowOf(workload, stateOf.get(workload))),
    part: { index, count },
  }));
}

function rowOf(workload: Workload, state: WorkloadState | undefined): ObservedResource {
  const { kind, metadata, counts, images } = workload;
  const id = idOf(workload);
  return {
    rawIdentity: `${apiVersionOf(WORKLOADS[kind].resource)}:${kind}:${metadata.namespace ?? ""}:${metadata.name}`,
    providerKind: kind,
    displayName: metadata.name,
    health: state?.health ?? "unknown",
    lifecycle: state?.lifecycle ?? "unknown",
    partial: false,
    providerStale: false,
    namespace: metadata.namespace ?? null,
    resourceTypeHint: "container",
    version: line(metadata.labels["app.kubernetes.io/version"])?.slice(0, 256) ?? null,
    managedResourceId: id.length <= MAX_ID ? id : null,
    counts: { desired: counts.desired, current: counts.current, ready: counts.ready },
    labels: Object.fromEntries(Object.entries(metadata.labels).slice(0, MAX_LABELS)),
    attributes: { images: images.slice(0, 10) },
  };
}

function line(text: string | undefined): string | null {
  return text === undefined || text === "" ? null : text.slice(0, MAX_LINE);
}
