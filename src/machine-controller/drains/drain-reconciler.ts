import { isDeepStrictEqual } from "node:util";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { Attempts } from "./attempts.ts";
import { type DrainAct, type DrainDecision, decideDrain } from "./decide-drain.ts";
import type { PodAct } from "./decide-pods.ts";
import type { DrainMemory } from "./drain-memory.ts";
import { canWait, statusOf } from "./drain-status.ts";
import { type Answer, answerOf } from "./judge.ts";
import type { OwnPods } from "./pods.ts";
import { type RemovalPorts, removeNode } from "./removal.ts";
import type { DrainRules } from "./rules.ts";
import type { Budget, DrainNode, DrainPod } from "./shapes.ts";
import { isOver, type Ordered, turnOf } from "./turn.ts";

/** What people see of a drain beside its status: events and metrics. */
export interface DrainEvents {
  cordoned(drain: MachineDrain): void;
  asked(drain: MachineDrain, act: PodAct, answer: Answer): void;
  became(drain: MachineDrain, from: string | undefined): void;
}

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface DrainPorts extends RemovalPorts {
  readonly memory: DrainMemory;
  readonly own: OwnPods;
  readonly keptNamespaces: readonly string[];
  // From the caches.
  readonly drain: (key: string) => MachineDrain | undefined;
  readonly drains: () => Iterable<MachineDrain>;
  readonly node: (name: string) => DrainNode | undefined;
  readonly podsOn: (nodeName: string) => readonly DrainPod[];
  readonly budgetsOf: (pod: DrainPod) => readonly Budget[];
  readonly rulesFor: (nodeName: string) => DrainRules;
  readonly isOfItsMachine: (spec: MachineDrain["spec"]) => boolean;
  /** Why this process may change nothing now, in words. */
  readonly obstacle: () => string | undefined;
  // From the API server itself, before a word that is final.
  readonly livePodsOn: (nodeName: string, signal: AbortSignal) => Promise<readonly DrainPod[]>;
  /** False: it is gone. @throws ApiError */
  readonly evict: (pod: DrainPod, signal: AbortSignal) => Promise<boolean>;
  readonly deletePod: (pod: DrainPod, graceSeconds: number, signal: AbortSignal) => Promise<boolean>;
  readonly publisher: DrainEvents;
}

const AFTER_CONFLICT_MS = 20;
/** Between a look and what the cache shows of its effects. */
const SOON_MS = 1_000;
/** Small news of a status are written no more often. */
const NEWS_MS = 2_000;
const LOOK_AT_MOST_MS = 300_000;

/** One drain: claim → cordon → evict, look, evict … → Drained, and the node's removal where it is wished. */
export async function reconcileDrain(key: string, ports: DrainPorts, context: ReconcileContext): Promise<Result> {
  const drain = ports.drain(key);
  if (drain === undefined || drain.metadata.deletionTimestamp !== undefined) {
    ports.memory.forget(key);
    return undefined;
  }
  try {
    if (!isOver(drain)) return await step(key, drain, ports, context);
    ports.memory.forget(key);
    // It is looked at again when that changes.
    if (ports.obstacle() !== undefined) return undefined;
    return await removeNode(drain, ports, context);
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    // The operator writes the same status, kubelets write nodes, and caches lag: the next look has the newer version.
    return { requeueAfterMs: AFTER_CONFLICT_MS };
  }
}

async function step(key: string, drain: MachineDrain, ports: DrainPorts, context: ReconcileContext): Promise<Result> {
  const { clock, memory } = ports;
  const attempts = memory.attemptsOf(key, drain.metadata.uid, clock.monotonicMs());
  const { nodeName } = drain.spec;
  const pods = ports.podsOn(nodeName);
  const node = ports.node(nodeName);
  let decision = decide(drain, node, pods, attempts, ports);
  if (decision.end !== undefined) {
    // Final, and caches lag: a pod may have been bound to the node just before it was cordoned.
    const liveNode = await ports.liveNode(nodeName, context.signal);
    const livePods = liveNode === undefined ? [] : await ports.livePodsOn(nodeName, context.signal);
    decision = decide(drain, liveNode, livePods, attempts, ports);
    if (decision.end === undefined) return { requeueAfterMs: SOON_MS };
  }
  if (decision.left !== undefined) attempts.seen(pods, decision.left, clock.monotonicMs());
  const { acts } = decision;
  const wait = await write(drain, decision, attempts, ports, context);
  if (acts.length > 0) {
    context.signal.throwIfAborted();
    ports.fence();
    await Promise.all(acts.map((act) => run(drain, act, attempts, ports, context)));
    // What the answers mean for the other pods.
    return { requeueAfterMs: acts.some((act) => act.do === "cordon") ? SOON_MS : 1 };
  }
  return { requeueAfterMs: Math.max(1, Math.min(decision.againMs, wait ?? LOOK_AT_MOST_MS, LOOK_AT_MOST_MS)) };
}

function decide(
  drain: MachineDrain,
  node: DrainNode | undefined,
  pods: readonly DrainPod[],
  attempts: Attempts,
  ports: DrainPorts,
): DrainDecision {
  const { clock, memory, own, keptNamespaces, budgetsOf, rulesFor } = ports;
  const rules = rulesFor(drain.spec.nodeName);
  const isBegun = ({ metadata, status }: Ordered): boolean =>
    status?.startedAt !== undefined || memory.isBegun(metadata.uid);
  const turn = turnOf(drain, {
    drains: ports.drains(),
    isBegun,
    poolOf: ({ spec }) => rulesFor(spec.nodeName).pool,
    isOfItsMachine: ({ spec }) => ports.isOfItsMachine(spec),
    maxParallel: rules.maxParallel,
    problem: rules.problem,
    obstacle: ports.obstacle(),
  });
  return decideDrain({
    drain,
    node,
    pods,
    budgetsOf,
    rules,
    turn,
    attempts,
    own,
    keptNamespaces,
    gates: memory.gates,
    movedMs: attempts.movedMs,
    now: clock.wallNow(),
    nowMs: clock.monotonicMs(),
  });
}

async function run(
  drain: MachineDrain,
  act: DrainAct,
  attempts: Attempts,
  ports: DrainPorts,
  { signal }: ReconcileContext,
): Promise<void> {
  if (act.do === "cordon") return await cordon(drain, ports, signal);
  const { clock, memory } = ports;
  const budget = act.do === "evict" ? act.budget : undefined;
  // Drains of other nodes decided from the same budget while the status was written: together they would ask for more.
  if (budget !== undefined && memory.gates.room(budget, clock.monotonicMs()) <= 0) return;
  attempts.asked(clock.monotonicMs());
  if (budget !== undefined) memory.gates.asked(budget);
  let answer: Answer | undefined;
  try {
    answer = await ask(act, ports, signal);
  } finally {
    if (budget !== undefined) memory.gates.answered(budget, answer, clock.monotonicMs());
  }
  attempts.answered(act.pod, act.do, answer, clock.monotonicMs());
  ports.publisher.asked(drain, act, answer);
}

async function ask(act: PodAct, ports: DrainPorts, signal: AbortSignal): Promise<Answer> {
  try {
    const isAccepted =
      act.do === "evict"
        ? await ports.evict(act.pod, signal)
        : await ports.deletePod(act.pod, act.graceSeconds, signal);
    return { is: isAccepted ? "accepted" : "gone" };
  } catch (error) {
    return answerOf(error);
  }
}

async function cordon(drain: MachineDrain, ports: DrainPorts, signal: AbortSignal): Promise<void> {
  const node = await ports.liveNode(drain.spec.nodeName, signal);
  // A person was faster: it is their cordon.
  if (node === undefined || node.spec.unschedulable) return;
  ports.fence();
  await ports.writeNode(node, { uid: drain.metadata.uid, isOurs: true }, true, signal);
  ports.publisher.cordoned(drain);
}

/** @returns how long a write that can wait may still wait */
async function write(
  drain: MachineDrain,
  decision: DrainDecision,
  attempts: Attempts,
  ports: DrainPorts,
  { signal, log }: ReconcileContext,
): Promise<number | undefined> {
  const { clock, memory, fence, publisher } = ports;
  const status = statusOf(drain, decision, clock.wallNow());
  if (isDeepStrictEqual(drain.status, status)) return undefined;
  const waitMs = attempts.writtenMs + NEWS_MS - clock.monotonicMs();
  if (waitMs > 0 && canWait(drain.status, status)) return waitMs;
  signal.throwIfAborted();
  fence();
  const isBeginning = drain.status?.startedAt === undefined && status.startedAt !== undefined;
  if (isBeginning) memory.begin(drain.metadata.uid);
  const stored = await ports.writeStatus(drain, status, signal);
  attempts.writtenMs = clock.monotonicMs();
  const from = drain.status?.state;
  if (from !== status.state) {
    log.info({ node: drain.spec.nodeName, from, to: status.state, progress: decision.progress }, "drain changed state");
    publisher.became(stored, from);
  }
  return undefined;
}
