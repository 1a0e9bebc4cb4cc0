import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/clock.ts";
import { REMOVED_LABEL } from "../../crds/group.ts";
import type { MachineJoin, MachineJoinStatus } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { decideJoin, type JoinFacts, type JoinStep, requestName, type SigningRequest } from "./decide-join.ts";
import { joinStatus } from "./join-status.ts";
import type { Places } from "./places.ts";

/** What people see of a join beside its status: events and metrics. */
export interface JoinEvents {
  became(join: MachineJoin, from: string | undefined): void;
}

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface JoinPorts {
  /** Its calendar is the API server's. */
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** The machine controller's own username, with which it makes certificate requests. */
  readonly self: (signal: AbortSignal) => Promise<string>;
  readonly places: Places;
  /** What keeps this process from signing; undefined: nothing. */
  readonly obstacle: () => string | undefined;
  // From the caches.
  readonly join: (key: string) => MachineJoin | undefined;
  readonly joins: () => Iterable<MachineJoin>;
  /** The pool that acts, of this name. */
  readonly pool: (name: string) => { readonly pool: MachinePool; readonly isSuperseded: boolean } | undefined;
  readonly node: (name: string) => JoinFacts["node"];
  // From the API server itself.
  readonly signingRequest: (name: string, signal: AbortSignal) => Promise<SigningRequest | undefined>;
  readonly liveNode: (name: string, signal: AbortSignal) => Promise<JoinFacts["node"]>;
  /** @throws ApiError AlreadyExists */
  readonly createRequest: (join: MachineJoin, signal: AbortSignal) => Promise<void>;
  /** Approves exactly the version that has this request. */
  readonly approveRequest: (name: string, signal: AbortSignal) => Promise<void>;
  /** With the resourceVersion that was read. */
  readonly writeStatus: (join: MachineJoin, status: MachineJoinStatus, signal: AbortSignal) => Promise<MachineJoin>;
  /** The label with which admission refuses the machine, whatever certificate it has by now. */
  readonly refuse: (join: MachineJoin, signal: AbortSignal) => Promise<void>;
  readonly publisher: JoinEvents;
}

const AFTER_CONFLICT_MS = 20;
/** Between a step and what it leads to. */
const SOON_MS = 50;
/** The signer tells of nothing that is watched here: its answer is looked for this often. */
const SIGNER_MS = 500;
const LOOK_AT_MOST_MS = 300_000;

/** One join: Waiting → Approved → Signing → Issued → Joined; or Denied, Expired. One effect a look. */
export async function reconcileJoin(key: string, ports: JoinPorts, context: ReconcileContext): Promise<Result> {
  const join = ports.join(key);
  if (join === undefined || join.metadata.deletionTimestamp !== undefined) return undefined;
  // Told by the pool; the policies' own return brings each join here again.
  if (ports.obstacle() !== undefined) return undefined;
  try {
    const read = await readFacts(join, ports, context.signal);
    // Places are looked at and taken without a pause between: two joins would both see the last one.
    const { places } = ports;
    const taken = places.takenWithout(join, ports.joins());
    const facts = { ...read, taken, rival: places.rivalOf(join, ports.joins()) };
    return await carryOut(facts, decideJoin(facts), ports, context);
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    // A person writes the same object, and caches lag: the next look has the newer version.
    return { requeueAfterMs: AFTER_CONFLICT_MS };
  }
}

async function readFacts(
  join: MachineJoin,
  ports: JoinPorts,
  signal: AbortSignal,
): Promise<Omit<JoinFacts, "taken" | "rival">> {
  const { pool, nodeName } = join.spec;
  const state = join.status?.state ?? "Waiting";
  const found = ports.pool(pool);
  const isSigning = state === "Approved" || state === "Signing";
  const signing = isSigning ? await ports.signingRequest(requestName(join), signal) : undefined;
  // Before the machine gets a certificate for a name, the API server itself says that no node has it.
  const node = state === "Approved" ? await ports.liveNode(nodeName, signal) : ports.node(nodeName);
  return {
    join,
    signing,
    node,
    self: await ports.self(signal),
    now: ports.clock.wallNow(),
    pool: found?.pool,
    isSuperseded: found?.isSuperseded ?? false,
  };
}

async function carryOut(
  facts: JoinFacts,
  step: JoinStep,
  ports: JoinPorts,
  context: ReconcileContext,
): Promise<Result> {
  const { join } = facts;
  const { signal } = context;
  if (step.do === "nothing") return undefined;
  if (step.do === "create-request") {
    ports.fence();
    await ports.createRequest(join, signal);
    return { requeueAfterMs: SOON_MS };
  }
  if (step.do === "approve-request") {
    ports.fence();
    if (facts.signing?.isApproved !== true) await ports.approveRequest(requestName(join), signal);
  }
  if (
    step.do === "expire" &&
    join.status?.certificate !== undefined &&
    join.metadata.labels?.[REMOVED_LABEL] !== "true"
  ) {
    ports.fence();
    await ports.refuse(join, signal);
    return { requeueAfterMs: SOON_MS };
  }
  const status = joinStatus(join, step, facts.now);
  if (!isDeepStrictEqual(join.status, status)) await write(join, status, ports, context);
  if (step.do !== "wait") return { requeueAfterMs: SOON_MS };
  const lookAgainMs = step.state === "Signing" ? SIGNER_MS : (step.lookAgainMs ?? LOOK_AT_MOST_MS);
  return { requeueAfterMs: Math.max(1, Math.min(lookAgainMs, LOOK_AT_MOST_MS)) };
}

async function write(
  join: MachineJoin,
  status: MachineJoinStatus,
  ports: JoinPorts,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const from = join.status?.state;
  signal.throwIfAborted();
  ports.fence();
  if (status.state === "Approved") ports.places.take(join);
  const stored = await ports.writeStatus(join, status, signal);
  if (from === status.state) return;
  log.info({ machine: join.spec.machineId, node: join.spec.nodeName, from, to: status.state }, "join changed state");
  ports.publisher.became(stored, from);
}
