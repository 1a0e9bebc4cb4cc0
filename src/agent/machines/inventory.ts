import type { MachineReport, MachineStatus } from "../../contract/machines/machine.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import type { MachineJoin, MachineJoinState } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { printableLine } from "../../crds/printable.ts";
import { isOfEarlierNode } from "../../crds/retention.ts";
import { quantityOf } from "../../kube/objects/quantity.ts";
import type { Node } from "../../kube/projection/shapes.ts";
import type { Load } from "./loads.ts";
import type { WishAnswer } from "./machine-wishes.ts";
import { bornAt, type Member } from "./members.ts";

/** What is known of one machine. */
export interface MachineFacts {
  readonly deploymentId: string;
  readonly member: Member;
  /** The one that acts for the deployment. */
  readonly pool: Pick<MachinePool, "status"> | undefined;
  readonly node: Node | undefined;
  /** When its kubelet last said that it lives. */
  readonly renewedAt: string | undefined;
  /** Of its node, those of people too. */
  readonly drains: readonly MachineDrain[];
  /** What became of what the platform wants of it. */
  readonly answer: WishAnswer | undefined;
  readonly load: Load | undefined;
  /** Whether names of objects of this namespace may leave the cluster. */
  readonly isTold: (namespace: string) => boolean;
}

const GROUP_LABELS = ["sallyport.dev/capacity-group", "node.kubernetes.io/instance-type"] as const;
const ZONE_LABEL = "topology.kubernetes.io/zone";
const NODE_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"] as const;
const DRAIN_CONDITIONS = ["Approved", "Progressing", "DeadlineExceeded", "Drained", "Removed"] as const;
const JOIN_CONDITIONS = ["Approved", "Signed", "NodeReady"] as const;
/** As many as the platform takes; what a person waits for comes before what a node says of itself. */
const MAX_CONDITIONS = 10;
const CONDITION_WORD = /^[A-Za-z][A-Za-z0-9-]{0,63}$/;
const MAX_WORD = 512;
/** Of one machine; the platform takes 500 rows, and 16 KiB for all of the machine. */
const MAX_BLOCKERS = 500;
const MAX_BLOCKER_BYTES = 10_240;

/** One machine as the platform is told of it. Undefined: it is no node (any more), and none asks to become it. Pure. */
export function machineReport(all: MachineFacts, now: Date): MachineReport | undefined {
  const { member, node, renewedAt, load } = all;
  const born = bornAt(member, node);
  const facts = { ...all, drains: all.drains.filter((drain) => !isOfEarlierNode(drain, born)) };
  const state: MachineJoinState | undefined = member.join && (member.join.status?.state ?? "Waiting");
  const drain = activeDrain(facts);
  const asked = askedDrains(facts);
  const conditions = conditionsOf(facts, state, toldDrain(asked, drain));
  const requestedAt = asked.find(({ spec }) => spec.requested?.remove !== true)?.metadata.creationTimestamp;
  const common = {
    conditions,
    ...(requestedAt !== undefined && { drainRequestedAt: instant(requestedAt) }),
    ...(all.answer?.wish !== undefined && { wish: all.answer.wish }),
  };
  if (node === undefined) {
    if (member.join === undefined || state === undefined) return undefined;
    if (state !== "Joined") return { ...fromJoin(member.join, state, "joining", now.toISOString()), ...common };
    // It is not removed before its join is: until then it could come back with the certificate that it has.
    const heardAt = instant(renewedAt ?? member.join.metadata.creationTimestamp);
    return { ...fromJoin(member.join, state, "unreachable", heardAt), ...common };
  }
  const { status, metadata } = node;
  const storage = amounts(node, "ephemeral-storage", load?.[2] ?? 0);
  const address = (type: string): string | undefined => status.addresses.find((each) => each.type === type)?.address;
  const publicIp = address("ExternalIP");
  const overlayIp = address("InternalIP");
  const drainedAt = drain?.status?.state === "Drained" ? drain.status.drainedAt : undefined;
  return {
    machineId: member.machineId,
    status: statusOf(node, drain, state),
    capacityGroup: word(GROUP_LABELS.map((label) => metadata.labels[label]).find((each) => each)) ?? "default",
    zone: word(metadata.labels[ZONE_LABEL]) ?? "unknown",
    cpu: amounts(node, "cpu", (load?.[0] ?? 0) / 1_000),
    memory: amounts(node, "memory", load?.[1] ?? 0),
    ...(storage.total > 0 && { storage }),
    drainBlockers: drain === undefined ? [] : blockersOf(drain, facts.isTold),
    ...(drainedAt !== undefined && { drainedAt: instant(drainedAt) }),
    ...(publicIp !== undefined && { publicIp: word(publicIp) ?? null }),
    ...(overlayIp !== undefined && { overlayIp: word(overlayIp) ?? null }),
    lastHeartbeat: instant(renewedAt ?? metadata.creationTimestamp),
    runtimeDaemonVersion: word(`${status.nodeInfo.kubeletVersion} ${status.nodeInfo.containerRuntimeVersion}`) ?? null,
    networkHealth: networkHealth(node),
    localOverrides: [],
    replicaCount: load?.[3] ?? 0,
    ...common,
    ...(state !== undefined && { joinState: lower(state) }),
  };
}

/** A join that came to nothing: its machine is not there, and the platform is told why. */
export function endedReport(join: Pick<MachineJoin, "spec" | "status">, now: Date): MachineReport {
  const conditions = conditionsIn("Join", JOIN_CONDITIONS, join.status?.conditions ?? []);
  return { ...fromJoin(join, join.status?.state ?? "Denied", "removed", now.toISOString()), conditions };
}

/** No kubelet speaks for it: what is told is the request of the machine. */
function fromJoin(
  { spec }: Pick<MachineJoin, "spec">,
  state: MachineJoinState,
  status: MachineStatus,
  lastHeartbeat: string,
): MachineReport {
  const none = { allocated: 0, systemReserve: 0, total: 0 };
  const version = word(spec.facts.kubelet);
  return {
    machineId: spec.machineId,
    status,
    capacityGroup: "default",
    zone: word(spec.facts.zone) ?? "unknown",
    cpu: none,
    memory: none,
    drainBlockers: [],
    localOverrides: [],
    replicaCount: 0,
    lastHeartbeat,
    ...(version !== undefined && { runtimeDaemonVersion: version }),
    joinState: lower(state),
  };
}

function statusOf(node: Node, drain: MachineDrain | undefined, join: MachineJoinState | undefined): MachineStatus {
  const isEmpty = drain?.status?.state === "Drained";
  if (isEmpty && drain.spec.requested?.remove === true) return "terminating";
  if (isEmpty) return "drained";
  if (drain !== undefined) return "draining";
  const ready = node.status.conditions.find(({ type }) => type === "Ready")?.status;
  if (ready === "True") return "ready";
  if (join === "Issued") return "joining";
  return ready === "False" ? "not-ready" : "unreachable";
}

const ACTIVE: readonly string[] = ["Cordoning", "Draining", "Blocked"];

/** The drain that acts on the node, a removal before the drain that it follows; one that waits acts on none yet. */
function activeDrain({ node, drains }: MachineFacts): MachineDrain | undefined {
  const rank = ({ spec, status }: MachineDrain): number => {
    if (ACTIVE.includes(status?.state ?? "")) return 1;
    // Of a node that takes pods again, having been empty says nothing.
    if (status?.state !== "Drained" || node?.spec.unschedulable !== true) return 0;
    return spec.requested?.remove === true ? 3 : 2;
  };
  const [best] = drains
    .filter((drain) => drain.metadata.deletionTimestamp === undefined && rank(drain) > 0)
    .toSorted((a, b) => rank(b) - rank(a) || b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp));
  return best;
}

/** What the platform asked for this machine, the newest first. */
function askedDrains({ deploymentId, member, drains }: MachineFacts): readonly MachineDrain[] {
  const revision = ({ spec }: MachineDrain): number => spec.requested?.revision ?? -1;
  return drains
    .filter(({ metadata, spec: { requested } }) => {
      // What the machine itself wants, the platform did not ask for and cannot cancel.
      if (metadata.deletionTimestamp !== undefined || requested?.leaving === true) return false;
      return requested?.deploymentId === deploymentId && requested.machineId === member.machineId;
    })
    .toSorted((a, b) => revision(b) - revision(a));
}

/** Whose conditions are told: what the platform asked for and is not over, what acts on the node, what failed. */
function toldDrain(asked: readonly MachineDrain[], active: MachineDrain | undefined): MachineDrain | undefined {
  const isOver = ({ spec, status }: MachineDrain): boolean =>
    status?.state === "Failed" ||
    (status?.state === "Drained" && (spec.requested?.remove !== true || isRemoved(status)));
  return asked.find((drain) => !isOver(drain)) ?? active ?? asked.find(({ status }) => status?.state === "Failed");
}

function isRemoved({ conditions }: MachineDrainStatus): boolean {
  return conditions?.some(({ type, status: is }) => type === "Removed" && is === "True") === true;
}

function amounts({ status }: Node, name: string, allocated: number) {
  const total = quantityOf(status.capacity[name] ?? "") ?? 0;
  const allocatable = quantityOf(status.allocatable[name] ?? "") ?? total;
  const round = (amount: number): number => Math.max(Math.round(amount * 1_000) / 1_000, 0);
  return { allocated: round(allocated), systemReserve: round(total - allocatable), total: round(total) };
}

type Blocker = MachineReport["drainBlockers"][number];

/** A row a pod, though the drain names three of a group: the others are rows without a name. */
function blockersOf({ status }: MachineDrain, isTold: MachineFacts["isTold"]): Blocker[] {
  const rows: Blocker[] = [];
  let bytes = 0;
  for (const group of status?.blockers ?? []) {
    for (let index = 0; index < Math.max(group.count, group.pods.length); index += 1) {
      const row = blocker(group, group.pods[index], isTold);
      bytes += Buffer.byteLength(JSON.stringify(row));
      if (rows.length >= MAX_BLOCKERS || bytes > MAX_BLOCKER_BYTES) return rows;
      rows.push(row);
    }
  }
  return rows;
}

const BLOCKED = "blocked" as const;

type BlockerGroup = NonNullable<MachineDrainStatus["blockers"]>[number];

/** Workload and pod begin with their namespace: `shop/deployment/api`, `shop/api-7d9c5-x2x4z`. */
function blocker(
  { reason, workload, message, since }: BlockerGroup,
  pod: string | undefined,
  isTold: MachineFacts["isTold"],
): Blocker {
  const [namespace = "", kind] = (workload ?? pod ?? "").split("/");
  const common = {
    reason,
    ...(reason !== "daemon" && { state: reason === "terminating" ? reason : BLOCKED }),
    since: instant(since),
  };
  if (namespace !== "" && !isTold(namespace)) return { ...common, workloadName: `namespace ${namespace} pods` };
  return {
    ...common,
    ...(workload !== undefined && {
      workloadId: word(workload) ?? null,
      workloadName: word(workload.slice(workload.lastIndexOf("/") + 1)) ?? null,
      schedulingMode: kind === "daemonset" ? "daemon" : kind === "statefulset" ? "stateful" : "replicated",
    }),
    ...(pod !== undefined && { replicaId: word(pod) ?? null }),
    ...(message !== "" && { message: word(message) ?? null }),
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
}
type ToldConditions = NonNullable<MachineReport["conditions"]>;

function conditionsOf(
  { member, pool, node, answer }: MachineFacts,
  state: MachineJoinState | undefined,
  drain: MachineDrain | undefined,
): ToldConditions {
  const refusal = answer?.refusal;
  const isComing = state !== undefined && state !== "Joined" && state !== "Removed";
  const obstacles = isComing ? (pool?.status?.conditions ?? []).filter(({ status }) => status !== "True") : [];
  return [
    ...conditionsIn("Pool", ["Ready"], obstacles),
    ...conditionsIn("Join", JOIN_CONDITIONS, isComing ? (member.join?.status?.conditions ?? []) : []),
    ...conditionsIn("Drain", ["PassedOn"], refusal ? [{ type: "PassedOn", status: "False", reason: refusal }] : []),
    ...conditionsIn("Drain", DRAIN_CONDITIONS, drain?.status?.conditions ?? []),
    ...conditionsIn("", NODE_CONDITIONS, node?.status.conditions ?? []),
  ].slice(0, MAX_CONDITIONS);
}

function conditionsIn(prefix: string, types: readonly string[], conditions: readonly Condition[]): ToldConditions {
  return types.flatMap((type) => {
    const found = conditions.find((each) => each.type === type);
    if (found === undefined || !isConditionStatus(found.status)) return [];
    const { status, reason } = found;
    return [{ type: `${prefix}${type}`, status, ...(reason && CONDITION_WORD.test(reason) && { reason }) }];
  });
}

function isConditionStatus(text: string): text is "True" | "False" | "Unknown" {
  return text === "True" || text === "False" || text === "Unknown";
}

function networkHealth({ status }: Node): "unknown" | "healthy" | "degraded" {
  const unavailable = status.conditions.find(({ type }) => type === "NetworkUnavailable")?.status;
  if (unavailable === "False") return "healthy";
  return unavailable === "True" ? "degraded" : "unknown";
}

function lower<S extends string>(text: S): Lowercase<S> {
  return text.toLowerCase() as Lowercase<S>;
}

/** As the platform writes times, with milliseconds. */
function instant(text: string): string {
  return new Date(Date.parse(text)).toISOString();
}

/** Of labels, addresses and versions, which others write. */
function word(text: string | undefined): string | undefined {
  const plain = printableLine(text ?? "", MAX_WORD);
  return plain === "" ? undefined : plain;
}
