import { createHash } from "node:crypto";
import {
  LOGICAL_ID,
  type ObservedResource,
  type ResourceHeartbeat,
  type ResourceStatus,
} from "../../contract/resources/resource-heartbeat.ts";
import { WORKLOAD_KINDS } from "../../crds/operations/workload-kinds.ts";
import { printableLine } from "../../crds/printable.ts";
import { DEPLOYMENT_ID_LABEL, RESOURCE_ID_LABEL } from "../../crds/release-names.ts";
import { apiVersionOf } from "../../kube/objects/resource.ts";
import type { Pod } from "../../kube/projection/shapes.ts";
import { isReady } from "../../kube/workload-state/pod.ts";
import { OBSERVED, type ObservedKind } from "../kernel/observed-kinds.ts";
import { boundedMap, count, imageName, line, name, paragraph, timeOf, within } from "../kernel/told-words.ts";
import type { EventLookup, EventsTold } from "../lookups/event-lookup.ts";
import { usageOfAll, usageOfPod } from "../lookups/pod-usage.ts";
import type { NamespaceUsage, UsageLookup } from "../lookups/usage-lookup.ts";
import type { Observation } from "./ledger.ts";
import type { Counts, Related, Workload, WorkloadCondition } from "./workload.ts";

/** One object of an opened namespace. */
export interface WorkloadRef {
  readonly namespace: string;
  readonly kind: ObservedKind;
  readonly name: string;
}

/** Pods in one heartbeat: the ones that are not ready first. */
const MAX_PODS = 50;
const MAX_CONDITIONS = 20;
const MAX_LABELS = 32;
/** `resourceId`, `displayName` and `rawIdentity` in the contract. */
const MAX_ID = 253;
const MAX_IDENTITY = 512;
/** Bytes of each map; the contract has 16 KiB. */
const MAX_MAP_BYTES = 15_000;
const MAX_IMAGES = 10;
const MAX_FACT_BYTES = 1_000;
const MAX_MESSAGE = 4_096;

/** Pods that are not ready whose events are asked for. */
const MAX_SICK_PODS = 3;

/** What is asked for beside the caches. */
export interface Lookups {
  readonly events: Pick<EventLookup<ObservedKind>, "of" | "well">;
  readonly usage: Pick<UsageLookup, "of">;
}

/** What was found beside the caches. */
interface Found {
  readonly events: EventsTold;
  readonly usage: NamespaceUsage;
  readonly logicalId: string;
}

const PODS_UNKNOWN = {
  reason: "forbidden",
  severity: "warning",
  source: "kubernetes",
  message: "the agent does not read its pods; what they would say is not known",
} as const;

/** The name of the list of a kind in a namespace (§11.6). */
export function scopeOf(namespace: string, kind: ObservedKind): string {
  return `kubernetes:${apiVersionOf(OBSERVED[kind].resource)}:${kind}:${namespace}`;
}

export function identityOf({ namespace, kind, name }: WorkloadRef): string {
  const list = `${apiVersionOf(OBSERVED[kind].resource)}:${kind}`;
  const identity = `${list}:${namespace}:${name}`;
  if (isId(identity, MAX_IDENTITY)) return identity;
  return `${list}:${createHash("sha256")
    .update(JSON.stringify([namespace, name]))
    .digest("hex")}`;
}

/** Unique in a deployment, and free of what a path would have to escape. */
export function idOf({ namespace, kind, name }: WorkloadRef): string {
  return `${OBSERVED[kind].reportedAs}.${namespace}.${name}`;
}

/**
 * The same in each deployment that has it (§11.7): the id in the stack, where a release of this very deployment installed
 * it. Anybody may write such labels, and what another deployment installed beside it is not of its stack.
 */
function logicalIdOf({ kind, metadata }: Workload, deploymentId: string | undefined): string {
  const { [DEPLOYMENT_ID_LABEL]: installedBy, [RESOURCE_ID_LABEL]: resourceId } = metadata.labels;
  const isOwn = deploymentId !== undefined && installedBy === deploymentId;
  if (isOwn && resourceId !== undefined && IS_LOGICAL_ID.test(resourceId)) return resourceId;
  const { reportedAs } = OBSERVED[kind];
  const id = `${reportedAs}.${metadata.name}`;
  if (IS_LOGICAL_ID.test(id)) return id;
  return `${reportedAs}.${createHash("sha256").update(metadata.name).digest("hex")}`;
}

const IS_LOGICAL_ID = new RegExp(LOGICAL_ID);

/** No API server has names that are none of these, unless it lies. */
function isId(text: string, maxChars: number): boolean {
  return text.length <= maxChars && printableLine(text, maxChars) === text;
}

function nameOf(text: string): string {
  return name(text, MAX_ID) ?? "?";
}

function refOf({ kind, metadata }: Pick<Workload, "kind" | "metadata">): WorkloadRef {
  return { namespace: metadata.namespace ?? "", kind, name: metadata.name };
}

/**
 * What is told of an object.
 *
 * @param deploymentId to which it is told
 */
export function observationOf(
  workload: Workload,
  related: Related,
  now: Date,
  lookups: Lookups,
  deploymentId?: string,
): Observation {
  const state = workload.stateOf({ ...related, now });
  const logicalId = logicalIdOf(workload, deploymentId);
  const row = rowOf(workload, state, logicalId);
  if (row.managedResourceId === null) return { row, heartbeat: undefined };
  const usage = lookups.usage.of(workload.metadata.namespace ?? "");
  const found = { events: eventsOf(workload, state, related, lookups), usage, logicalId };
  return { row, heartbeat: heartbeatOf(workload, state, related, now, found) };
}

/** Only what is sick has events: they say why, and there are too many to read them all. */
function eventsOf(workload: Workload, { health, lifecycle }: State, related: Related, { events }: Lookups): EventsTold {
  const ref = refOf(workload);
  if (health === "unhealthy" || lifecycle === "failed") return events.of(ref, subjectsOf(workload, related));
  events.well(ref);
  return { events: [] };
}

/** Uids of the workload and of what it is sick by: a quota shows at a ReplicaSet, a failed run at its Job. */
function subjectsOf({ metadata }: Workload, { pods = [], replicaSets = [], jobs = [] }: Related): readonly string[] {
  const short = replicaSets.filter(({ spec, status }) => (spec.replicas ?? 1) > status.readyReplicas);
  const sick = pods.filter((pod) => !isReady(pod)).toSorted(newestFirst);
  const all = [
    ...short.toSorted(newestFirst).slice(0, 1),
    ...jobs.toSorted(newestFirst).slice(0, 1),
    ...sick.slice(0, MAX_SICK_PODS),
  ];
  return [...new Set([metadata.uid, ...all.map((each) => each.metadata.uid)])];
}

function newestFirst(a: { readonly metadata: Pod["metadata"] }, b: { readonly metadata: Pod["metadata"] }): number {
  const [x, y] = [a.metadata, b.metadata];
  if (x.creationTimestamp !== y.creationTimestamp) return x.creationTimestamp > y.creationTimestamp ? -1 : 1;
  return x.name < y.name ? -1 : 1;
}

/** Whether only an event can change it. What waits for time, a deadline of a rollout or of a pod's end, is looked at again. */
export function isSettled({ isTimeless }: Workload, { row }: Observation, { pods = [] }: Related): boolean {
  if (pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return false;
  if (isTimeless === true) return row.lifecycle !== "deleting";
  return row.health === "healthy" && (row.lifecycle === "running" || row.lifecycle === "stopped");
}

type State = Pick<ResourceStatus, "health" | "lifecycle" | "message">;

/** A DaemonSet takes a command when an operation takes the kind. */
const isCommandSupported = WORKLOAD_KINDS.includes("daemonset");

/** What the contract asks for by type (§11.5). A CronJob is what triggers its work; other workers have no trigger here. */
function ofType(kind: ObservedKind): object {
  const { type, reportedAs } = OBSERVED[kind];
  if (type === "worker") return { triggerCount: kind === "CronJob" ? 1 : 0 };
  return type === "daemon" ? { commandSupported: isCommandSupported } : { workloadKind: reportedAs };
}

function heartbeatOf(
  workload: Workload,
  state: State,
  related: Related,
  now: Date,
  { events, usage, logicalId }: Found,
): ResourceHeartbeat {
  const { kind, metadata, counts, conditions, observedGeneration } = workload;
  const resourceType = OBSERVED[kind].type;
  const { pods = [] } = related;
  const collectionIssues = [
    ...(usage.issue === undefined ? [] : [usage.issue]),
    ...(events.issue === undefined ? [] : [events.issue]),
    ...(related.pods === undefined ? [PODS_UNKNOWN] : []),
  ];
  const status: ResourceStatus = { ...state, partial: collectionIssues.length > 0, stale: false, collectionIssues };
  const notReadyFirst = pods.toSorted(
    (a, b) => Number(isReady(a)) - Number(isReady(b)) || (a.metadata.name < b.metadata.name ? -1 : 1),
  );
  const data = {
    status,
    backend: "kubernetes" as const,
    ...ofType(kind),
    logicalId,
    namespace: name(metadata.namespace) ?? "",
    name: nameOf(metadata.name),
    replicas: countsOf(counts),
    pods: notReadyFirst.slice(0, MAX_PODS).map((pod) => ({ ...podOf(pod), ...usageOfPod(pod, usage) })),
    events: events.events,
    ...usageOfAll(pods, usage),
    restarts: pods.reduce((sum, pod) => sum + restartsOf(pod), 0),
    workload: {
      ...(counts.desired !== undefined && { desiredReplicas: count(counts.desired) }),
      ...(counts.ready !== undefined && { readyReplicas: count(counts.ready) }),
      ...(counts.available !== undefined && { availableReplicas: count(counts.available) }),
      ...(counts.updated !== undefined && { updatedReplicas: count(counts.updated) }),
      ...(observedGeneration !== undefined && { observedGeneration: count(observedGeneration) }),
      desiredGeneration: count(metadata.generation),
      conditions: conditions.slice(0, MAX_CONDITIONS).map(conditionOf),
    },
  };
  return {
    resourceId: idOf(refOf(workload)),
    resourceType,
    controllerPlatform: "kubernetes",
    backend: "kubernetes",
    observedAt: now.toISOString(),
    data: { resourceType, data },
    raw: [],
  };
}

function podOf(pod: Pod): object {
  const { metadata, spec, status } = pod;
  const states = status.containerStatuses.map(({ state }) => state);
  const waiting = states.find((state) => state.waiting !== undefined)?.waiting?.reason;
  const terminated = states.find((state) => state.terminated !== undefined)?.terminated?.reason;
  return {
    name: nameOf(metadata.name),
    uid: name(metadata.uid),
    phase: line(status.phase),
    ready: isReady(pod),
    restartCount: restartsOf(pod),
    waitingReason: line(waiting),
    terminatedReason: line(terminated),
    nodeName: name(spec.nodeName),
    podIp: name(status.podIP),
    ownerReferences: metadata.ownerReferences
      .slice(0, 10)
      .map((owner) => ({ kind: name(owner.kind) ?? "", name: name(owner.name) ?? "", uid: name(owner.uid) })),
  };
}

function restartsOf({ status }: Pod): number {
  return status.containerStatuses.reduce((sum, { restartCount }) => sum + count(restartCount), 0);
}

function conditionOf({ type, status, reason, message, lastTransitionTime }: WorkloadCondition): object {
  return {
    type: line(type) ?? "",
    status: line(status) ?? "",
    reason: line(reason),
    // Controllers quote webhooks, and those may quote what they refused.
    message: paragraph(message, MAX_MESSAGE),
    lastTransitionTime: timeOf(lastTransitionTime),
  };
}

function rowOf(workload: Workload, { health, lifecycle, message }: State, logicalId: string): ObservedResource {
  const { kind, metadata, counts, images, facts } = workload;
  const ref = refOf(workload);
  const { type, beats } = OBSERVED[kind];
  const id = idOf(ref);
  const { desired, current, ready } = countsOf(counts);
  return {
    rawIdentity: identityOf(ref),
    providerKind: kind,
    displayName: nameOf(metadata.name),
    ...{ health, lifecycle, message: message ?? null },
    partial: false,
    providerStale: false,
    namespace: name(metadata.namespace),
    resourceTypeHint: type,
    version: line(metadata.labels["app.kubernetes.io/version"], 256),
    managedResourceId: beats && isId(id, MAX_ID) ? id : null,
    counts: {
      ...(desired !== undefined && { desired }),
      ...(current !== undefined && { current }),
      ...(ready !== undefined && { ready }),
    },
    labels: boundedMap(Object.entries(metadata.labels).slice(0, MAX_LABELS), MAX_MAP_BYTES),
    attributes: {
      logicalId,
      ...(images.length > 0 && {
        images: images.slice(0, MAX_IMAGES).map((image) => imageName(image, MAX_FACT_BYTES)),
      }),
      ...Object.fromEntries(Object.entries(facts ?? {}).map(([name, fact]) => [name, plain(fact)])),
    },
  };
}

function countsOf(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, count(value)]));
}

function plain(fact: string | number): string | number {
  return typeof fact === "number" ? fact : within(line(fact) ?? "", MAX_FACT_BYTES);
}
