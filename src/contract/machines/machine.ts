import Type, { type Static } from "typebox";
import { HumanLine, Maybe, Nullable, Strict, Timestamp, Words } from "../wire/schema.ts";

/** §10.3. `unreachable` is also computed on read: a machine that has said nothing for 180 s. */
export const MACHINE_STATUSES = [
  "joining",
  "ready",
  "not-ready",
  "draining",
  "drained",
  "terminating",
  "unreachable",
  "removed",
] as const;
export type MachineStatus = (typeof MACHINE_STATUSES)[number];

const BLOCKER_REASONS = [
  "pod-disruption-budget",
  "unmanaged-pod",
  "local-storage",
  "terminating",
  "eviction-error",
  "misconfigured-budget",
  "daemon",
] as const;

/** How far a machine's join through a join server is: the states of the custom resource, in small letters. */
const JOIN_STATES = ["waiting", "approved", "signing", "issued", "joined", "denied", "expired", "removed"] as const;

const line = Type.String({ maxLength: 512 });
const amount = Type.Number({ minimum: 0 });
const Capacity = Strict({ allocated: amount, systemReserve: amount, total: amount });
const count = Type.Integer({ minimum: 0 });

export const MachineId = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
});

/** Why a machine is not empty yet. */
const Blocker = {
  reason: Words(BLOCKER_REASONS),
  workloadId: Maybe(line),
  workloadName: Maybe(line),
  replicaId: Maybe(line),
  schedulingMode: Maybe(Words(["replicated", "stateful", "daemon"])),
  state: Maybe(Words(["blocked", "waiting", "terminating"])),
  since: Maybe(Timestamp),
  message: Maybe(HumanLine(0, 512)),
};

/** A state in the cluster's words, such as why a drain does not go on. */
const conditionWord = Type.String({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z][A-Za-z0-9-]*$" });
const MachineCondition = Strict({
  type: conditionWord,
  status: Words(["True", "False", "Unknown"]),
  reason: Maybe(conditionWord),
});

const Mesh = Strict({
  expectedPeerCount: count,
  reachablePeerCount: count,
  missingPeerMachineIds: Type.Array(MachineId, { maxItems: 1000 }),
});

/** A workload that runs another image on this machine than its assignment says. */
const LocalOverride = Strict({
  activeDigest: Maybe(line),
  actor: Maybe(line),
  baseAssignmentHash: Maybe(line),
  baseDigest: Maybe(line),
  candidateDigest: Maybe(line),
  createdAt: Maybe(Timestamp),
  failureCategory: Maybe(Words(["pull", "start", "health", "timeout", "other"])),
  fallbackDigest: Maybe(line),
  forcedStop: Type.Optional(Type.Boolean()),
  healthySince: Maybe(Timestamp),
  incidentId: Maybe(line),
  lifecycle: Words(["candidate", "active", "fallback", "rolled-back", "stopped"]),
  phaseStartedAt: Maybe(Timestamp),
  replicaId: Maybe(line),
  workloadName: line,
});

const NETWORK_HEALTHS = ["unknown", "healthy", "degraded"] as const;

/** How far a manager is with what the platform wants of a machine, at this revision of it. */
const WishWord = Strict({
  revision: Type.Integer({ minimum: 0 }),
  state: Words(["passed-on", "deleted"]),
});

/** What a manager reports of one machine. The platform owns the drain request and ignores what a report says of it. */
export const MachineReport = Strict({
  machineId: MachineId,
  status: Words(MACHINE_STATUSES),
  capacityGroup: line,
  zone: line,
  cpu: Capacity,
  memory: Capacity,
  storage: Maybe(Capacity),
  drainBlockers: Type.Array(Strict(Blocker), { maxItems: 500 }),
  drainRequestedAt: Maybe(Timestamp),
  drainDeadlineAt: Maybe(Timestamp),
  drainForce: Type.Optional(Type.Boolean()),
  drainedAt: Maybe(Timestamp),
  publicIp: Maybe(line),
  overlayIp: Maybe(line),
  lastHeartbeat: Timestamp,
  runtimeDaemonVersion: Maybe(line),
  networkHealth: Maybe(Words(NETWORK_HEALTHS)),
  wireguardMesh: Maybe(Mesh),
  wireguardMeshObservedAt: Maybe(Timestamp),
  localOverrides: Type.Array(LocalOverride, { maxItems: 200 }),
  localOverridesObservedAt: Maybe(Timestamp),
  replicaCount: count,
  conditions: Type.Optional(Type.Array(MachineCondition, { maxItems: 10 })),
  joinState: Maybe(Words(JOIN_STATES)),
  wish: Maybe(WishWord),
});
export type MachineReport = Static<typeof MachineReport>;

export const Machine = Strict({
  machineId: MachineId,
  status: Words(MACHINE_STATUSES),
  capacityGroup: Type.String(),
  zone: Type.String(),
  cpu: Capacity,
  memory: Capacity,
  storage: Nullable(Capacity),
  drainBlockers: Type.Array(Strict(Blocker)),
  drainRequestedAt: Nullable(Timestamp),
  drainDeadlineAt: Nullable(Timestamp),
  drainForce: Type.Boolean(),
  drainedAt: Nullable(Timestamp),
  publicIp: Nullable(Type.String()),
  overlayIp: Nullable(Type.String()),
  lastHeartbeat: Timestamp,
  runtimeDaemonVersion: Nullable(Type.String()),
  networkHealth: Words(NETWORK_HEALTHS),
  wireguardMesh: Nullable(Mesh),
  wireguardMeshObservedAt: Nullable(Timestamp),
  localOverrides: Type.Array(LocalOverride),
  localOverridesObservedAt: Nullable(Timestamp),
  replicaCount: count,
  conditions: Type.Array(MachineCondition),
  joinState: Nullable(Words(JOIN_STATES)),
  customerCancelledAt: Nullable({
    ...Timestamp,
    description: "When the customer was found to have deleted the drain or removal that was asked for last.",
  }),
  stale: Type.Boolean({ description: "Nothing was heard of it for more than 180 s." }),
  statusSince: Timestamp,
});
export type Machine = Static<typeof Machine>;
