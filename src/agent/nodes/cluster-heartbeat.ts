import { counted } from "../../base/counted.ts";
import type { ResourceHeartbeat, ResourceStatus } from "../../contract/resources/resource-heartbeat.ts";
import { quantityOf } from "../../kube/objects/quantity.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import { joined, plainName } from "../../kube/workload-state/message.ts";
import type { Health } from "../../kube/workload-state/words.ts";
import type { ListState } from "../kernel/resource-metrics.ts";

/** Nodes of the cluster, as they were last read, and what the agent can see of them now. */
export interface NodesView {
  readonly nodes: readonly Node[];
  readonly state: ListState;
}

/** Nodes in one heartbeat, the ones with trouble first: each change of one node sends them all. */
const MAX_NODES = 100;
/** An autoscaler makes nodes all the time, which are not ready at first. */
const START_WITHIN_MS = 120_000;
const PRESSURES = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"] as const;
const REGION_LABEL = "topology.kubernetes.io/region";
const ZONE_LABEL = "topology.kubernetes.io/zone";
/** Of labels and versions, which others write. */
const MAX_WORD = 128;

const REFUSED = {
  reason: "forbidden",
  severity: "error",
  source: "kubernetes",
  message: "the agent may not read nodes; what is shown is the last that it saw",
} as const;

const OUT_OF_DATE = {
  reason: "api-unavailable",
  severity: "error",
  source: "kubernetes",
  message: "the API server has not confirmed the nodes for three minutes; what is shown is the last that it said",
} as const;

/** One heartbeat for the whole cluster (§11.5): how many nodes there are, which of them have trouble, and their room. */
export function clusterHeartbeat({ nodes, state }: NodesView, now: Date): ResourceHeartbeat {
  const seen = nodes.map((node) => seenOf(node, now)).toSorted(troubleFirst);
  const ready = seen.filter(({ isReady }) => isReady).length;
  const isRead = state === "read";
  const status: ResourceStatus = {
    ...(isRead ? { health: healthOf(seen, ready), message: messageOf(seen, ready) } : { health: "unknown" }),
    lifecycle: "running",
    ...{ partial: !isRead, stale: !isRead },
    collectionIssues: isRead ? [] : [state === "stale" ? OUT_OF_DATE : REFUSED],
  };
  const [cpu, memory] = [total(seen, "cores"), total(seen, "bytes")];
  const version = agreed(nodes.map(({ status: { nodeInfo } }) => nodeInfo.kubeletVersion));
  const region = agreed(nodes.map(({ metadata }) => metadata.labels[REGION_LABEL]));
  const data = {
    status,
    backend: "kubernetes" as const,
    name: CLUSTER_ID,
    nodeCounts: { desired: nodes.length, current: nodes.length, ready },
    podCounts: {},
    nodeStatuses: seen.slice(0, MAX_NODES).map(({ told }) => told),
    ...(version !== undefined && { version }),
    ...(region !== undefined && { region }),
    ...(cpu !== undefined && { cpu: { value: cpu, unit: "cores" } }),
    ...(memory !== undefined && { memory: { value: memory, unit: "bytes" } }),
  };
  return {
    resourceId: CLUSTER_ID,
    resourceType: CLUSTER_TYPE,
    controllerPlatform: "kubernetes",
    backend: "kubernetes",
    observedAt: now.toISOString(),
    data: { resourceType: CLUSTER_TYPE, data },
    raw: [],
  };
}

const CLUSTER_ID = "kubernetes-cluster";
const CLUSTER_TYPE = "kubernetes-cluster";

interface Seen {
  readonly name: string;
  readonly isReady: boolean;
  /** Closed words; none: all is well, or it is too young to tell. */
  readonly problems: readonly string[];
  readonly cores: number | undefined;
  readonly bytes: number | undefined;
  readonly told: object;
}

function seenOf({ metadata, spec, status }: Node, now: Date): Seen {
  const conditionOf = (type: string) => status.conditions.find((each) => each.type === type)?.status;
  const ready = conditionOf("Ready");
  const isReady = ready === "True";
  const isYoung = now.getTime() - Date.parse(metadata.creationTimestamp) < START_WITHIN_MS;
  const problems = [
    ...(isReady || isYoung ? [] : [ready === "Unknown" ? "Unreachable" : "NotReady"]),
    ...PRESSURES.filter((type) => conditionOf(type) === "True"),
  ];
  const { cpu, memory, pods } = status.allocatable;
  const [cores, bytes, maxPods] = [cpu, memory, pods].map((each) => quantityOf(each ?? ""));
  const zone = word(metadata.labels[ZONE_LABEL]);
  const { kubeletVersion, architecture } = status.nodeInfo;
  const told = {
    name: word(metadata.name),
    ...{ ready: isReady, problems, unschedulable: spec.unschedulable },
    ...{ version: word(kubeletVersion), architecture: word(architecture) },
    ...(zone !== undefined && { zone }),
    ...(cores !== undefined && { cpu: cores }),
    ...(bytes !== undefined && { memory: bytes }),
    ...(maxPods !== undefined && { pods: maxPods }),
  };
  return { name: metadata.name, isReady, problems, cores, bytes, told };
}

function healthOf(seen: readonly Seen[], ready: number): Health {
  if (seen.length === 0) return "unknown";
  const isTroubled = seen.some(({ problems }) => problems.length > 0);
  if (ready === 0) return isTroubled ? "unhealthy" : "unknown";
  return isTroubled ? "degraded" : "healthy";
}

function messageOf(seen: readonly Seen[], ready: number): string | null {
  if (seen.length === 0) return "no nodes";
  const troubled = seen.filter(({ problems }) => problems.length > 0);
  if (troubled.length === 0 && ready > 0) return null;
  return joined([
    `${ready} of ${counted(seen.length, "node")} ready`,
    ...troubled.map(({ name, problems }) => `${plainName(name)}: ${problems.join(", ")}`),
  ]);
}

function troubleFirst(a: Seen, b: Seen): number {
  const isQuiet = ({ isReady, problems }: Seen) => Number(isReady && problems.length === 0);
  return isQuiet(a) - isQuiet(b) || (a.name < b.name ? -1 : 1);
}

/** Nothing is known of the sum while one node does not say. */
function total(seen: readonly Seen[], what: "cores" | "bytes"): number | undefined {
  const values = seen.map((each) => each[what]);
  if (values.length === 0 || values.includes(undefined)) return undefined;
  const sum = values.reduce<number>((all, each) => all + (each ?? 0), 0);
  return Math.round(sum * 1_000) / 1_000;
}

/** The one word of all of them; while an upgrade runs, the first and the last. */
function agreed(words: readonly (string | undefined)[]): string | undefined {
  const found = [...new Set(words)].map(word).filter((each) => each !== undefined);
  const sorted = found.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const [first, last] = [sorted[0], sorted.at(-1)];
  return first === last ? first : `${first} to ${last}`;
}

function word(text: string | undefined): string | undefined {
  const plain = text?.replaceAll(/[^\x21-\x7e]/g, "?").slice(0, MAX_WORD);
  return plain === "" ? undefined : plain;
}
