import type { Clock } from "../../base/clock.ts";
import type { NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { OperationInvocation, OperationInvocationStatus } from "../../crds/kinds/operation-invocation.ts";
import type { OperationPolicy } from "../../crds/kinds/operation-policy.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import type { RoleLending } from "../access/role-lending.ts";
import { type CommandProblem, claimDigest, gate, type Verdict } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { LOOK_AGAIN_MS } from "../grants/grant-decision.ts";
import type { EventPublisher } from "../kernel/event-publisher.ts";
import type { OperatorMetrics } from "../kernel/metrics.ts";
import type { Operation } from "../operations/operation.ts";
import { expired, held, isClaimedBy, running, waiting } from "./invocation-status.ts";
import type { OperationRunner } from "./operation-runner.ts";
import { graceSignal } from "./stop-signal.ts";

/** What the gate reads besides the invocation. */
export interface GateFacts {
  readonly grant: AccessGrant | undefined;
  readonly policies: readonly Pick<OperationPolicy, "spec">[];
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
}

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface InvocationPorts {
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** From the cache. */
  readonly invocation: (key: string) => OperationInvocation | undefined;
  /** What the install values name for each deployment. */
  readonly named: NamedDeployments;
  /** What this installation can run, and what it knows of commands. */
  readonly findOperation: (command: string) => Operation | undefined;
  readonly commands: CommandTable;
  readonly problemOf?: (command: string) => CommandProblem | undefined;
  readonly cachedFacts: (invocation: OperationInvocation) => GateFacts;
  /** From the API server itself: before a refusal, which is final, and after a lost race. */
  readonly liveFacts: (invocation: OperationInvocation, signal: AbortSignal) => Promise<GateFacts>;
  readonly liveInvocation: (
    invocation: OperationInvocation,
    signal: AbortSignal,
  ) => Promise<OperationInvocation | undefined>;
  /** Both with the resourceVersion that was read. */
  readonly writeInvocation: (
    invocation: OperationInvocation,
    status: OperationInvocationStatus,
    signal: AbortSignal,
  ) => Promise<OperationInvocation>;
  readonly writeGrant: (grant: AccessGrant, status: AccessGrantStatus, signal: AbortSignal) => Promise<AccessGrant>;
  /** How long a claim that is on its way may take after the process is stopped. */
  readonly graceMs: number;
  /** Why nothing may be started now: a right of the operator's own is missing. */
  readonly obstacle: () => string | undefined;
  /** Why this one has to wait for older ones; from the cache. */
  readonly limitReached: (invocation: OperationInvocation, grant: AccessGrant | undefined) => string | undefined;
  readonly roleLending: Pick<RoleLending, "missingBinding">;
  readonly runner: Pick<OperationRunner, "run" | "abandon">;
  readonly metrics: Pick<OperatorMetrics, "operationEnded" | "refused" | "claimLost">;
  readonly publisher: Pick<EventPublisher, "invocationBecame">;
}

type Run = Extract<Verdict, { do: "run" }>;
type Held = Exclude<Verdict, Run>;

/** Lost races in a row before the queue's backoff takes over; each is another line of the same plan being claimed. */
const CLAIM_TRIES = 8;
const AFTER_CONFLICT_MS = 20;
/** The right's return triggers what waits for it; this is for a return that was not noticed. */
const AFTER_OBSTACLE_MS = 60_000;
const AFTER_LIMIT_MS = 5_000;

/**
 * One invocation: gate → claim the plan's line → claim the invocation → run → result.
 *
 * Nothing is executed before `Running` is stored. An invocation that is found `Running` is never executed: only one
 * worker at a time has a key, so a previous process began it.
 */
export async function reconcileInvocation(
  key: string,
  ports: InvocationPorts,
  context: ReconcileContext,
): Promise<Result> {
  const invocation = ports.invocation(key);
  if (invocation === undefined || invocation.metadata.deletionTimestamp !== undefined) return undefined;
  const state = invocation.status?.state ?? "Pending";
  if (state === "Running") return ports.runner.abandon(invocation, context.signal);
  if (state !== "Pending") return undefined;
  try {
    return await begin(invocation, ports, context);
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    // Our cache is behind, or a predecessor's last write has just arrived; its event brings the next look.
    ports.metrics.claimLost();
    return { requeueAfterMs: AFTER_CONFLICT_MS };
  }
}

async function begin(
  invocation: OperationInvocation,
  ports: InvocationPorts,
  context: ReconcileContext,
): Promise<Result> {
  let facts = ports.cachedFacts(invocation);
  let live = false;
  for (let attempt = 1; attempt <= CLAIM_TRIES; attempt += 1) {
    const verdict = gate({
      ...facts,
      invocation,
      policy: mergePolicies(facts.policies),
      named: ports.named,
      findOperation: ports.findOperation,
      commands: ports.commands,
      ...(ports.problemOf && { problemOf: ports.problemOf }),
      now: ports.clock.wallNow(),
    });
    // Before the claim: a line that could not run is not used up.
    const obstacle = verdict.do === "run" ? ports.obstacle() : undefined;
    if (obstacle !== undefined) {
      const wait = { do: "wait", reason: "RuleMissing", message: obstacle, againMs: AFTER_OBSTACLE_MS } as const;
      return settle(invocation, wait, ports, context);
    }
    const limit = verdict.do === "run" ? ports.limitReached(invocation, facts.grant) : undefined;
    if (limit !== undefined) {
      const wait = { do: "wait", reason: "TooManyOpen", message: limit, againMs: AFTER_LIMIT_MS } as const;
      return settle(invocation, wait, ports, context);
    }
    const unlent = verdict.do === "run" ? await awaitedBinding(verdict, ports, context) : undefined;
    if (unlent !== undefined) return settle(invocation, unlent, ports, context);
    if (verdict.do === "run" && (await lineClaimed(invocation, facts.grant, verdict, ports, context))) {
      return start(invocation, verdict, ports, context);
    }
    // A refusal is final and caches lag; a lost claim means that the grant has moved on. Either way: look again, live.
    if (verdict.do !== "run" && (verdict.do !== "refuse" || live)) return settle(invocation, verdict, ports, context);
    facts = await ports.liveFacts(invocation, context.signal);
    live = true;
  }
  throw new Error(`the plan line was not claimed in ${CLAIM_TRIES} tries`);
}

/** Before the claim too: a line whose binding is not made yet is not used up. */
async function awaitedBinding(
  { operation, bound, granted }: Run,
  { roleLending }: InvocationPorts,
  { signal }: ReconcileContext,
): Promise<Held | undefined> {
  const message = await roleLending.missingBinding(operation.command, bound.namespace, granted?.grantUid, signal);
  return message === undefined ? undefined : { do: "wait", reason: "AwaitingBinding", message, againMs: LOOK_AGAIN_MS };
}

/** False: the grant has changed since it was read, or no longer lets a line be claimed. */
async function lineClaimed(
  invocation: OperationInvocation,
  grant: AccessGrant | undefined,
  { granted }: Run,
  ports: InvocationPorts,
  { signal }: ReconcileContext,
): Promise<boolean> {
  if (granted === undefined || granted.claimed) return true;
  if (grant === undefined) return false;
  signal.throwIfAborted();
  ports.fence();
  try {
    await ports.writeGrant(grant, withClaim(grant, granted.index, invocation), signal);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && (error.isConflict || error.isInvalid))) throw error;
    ports.metrics.claimLost();
    return false;
  }
}

function withClaim(grant: AccessGrant, index: number, { metadata, spec }: OperationInvocation): AccessGrantStatus {
  const claim = { index, state: "Starting", commandId: spec.commandId, digest: claimDigest(metadata.uid) } as const;
  const known = grant.status?.commands ?? [];
  const others = known.filter((line) => line.index !== index);
  return { ...grant.status, commands: [...others, claim].sort((a, b) => a.index - b.index) };
}

async function start(
  invocation: OperationInvocation,
  verdict: Run,
  ports: InvocationPorts,
  context: ReconcileContext,
): Promise<Result> {
  const { signal, reconcileId, log } = context;
  const startedAt = ports.clock.wallNow();
  const claimant = `started by reconcile ${reconcileId}`;
  signal.throwIfAborted();
  ports.fence();
  const status = running(invocation, verdict.reason, claimant, startedAt);
  // Cut off on its way it might be stored all the same: a used line without a run.
  const [kept, release] = graceSignal(ports, signal);
  const claimed = await claim(invocation, status, claimant, ports, kept).finally(release);
  const { plugin, operation, commandId } = claimed.spec;
  log.info({ commandId, plugin, operation, reason: verdict.reason }, "operation started");
  ports.publisher.invocationBecame(claimed, "Running", verdict.reason);
  // The stored instant has whole seconds, and it is the one that every try must see.
  await ports.runner.run(claimed, verdict, startedAt, context);
  return undefined;
}

/** When the answer is lost, the claim may still be stored; then it is ours, and only we know that nothing has run. */
async function claim(
  invocation: OperationInvocation,
  status: OperationInvocationStatus,
  claimant: string,
  ports: InvocationPorts,
  signal: AbortSignal,
): Promise<OperationInvocation> {
  try {
    return await ports.writeInvocation(invocation, status, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.isTransient)) throw error;
    const stored = await ports.liveInvocation(invocation, signal);
    if (stored !== undefined && isClaimedBy(stored, claimant)) return stored;
    throw error;
  }
}

async function settle(
  invocation: OperationInvocation,
  verdict: Held,
  ports: InvocationPorts,
  { signal, log }: ReconcileContext,
): Promise<Result> {
  const now = ports.clock.wallNow();
  const { plugin, operation, deadline, commandId } = invocation.spec;
  const command = `${plugin}/${operation}`;
  signal.throwIfAborted();
  ports.fence();
  if (verdict.do === "wait") {
    await ports.writeInvocation(
      invocation,
      waiting(invocation, verdict.reason ?? "NoGrant", verdict.message, now),
      signal,
    );
    const untilDeadline = deadline === undefined ? Number.POSITIVE_INFINITY : Date.parse(deadline) - now.getTime();
    const againMs = Math.min(verdict.againMs ?? Number.POSITIVE_INFINITY, untilDeadline);
    return Number.isFinite(againMs) ? { requeueAfterMs: Math.max(againMs, 1) } : undefined;
  }
  if (verdict.do === "expire") {
    const stored = await ports.writeInvocation(invocation, expired(invocation, verdict.message, now), signal);
    ports.metrics.operationEnded(command, "expired");
    ports.publisher.invocationBecame(stored, "Expired", verdict.message);
    log.info({ commandId, deadline: deadline ?? timestamp(now) }, "operation expired");
    return undefined;
  }
  const { reason, message } = verdict;
  const stored = await ports.writeInvocation(invocation, held(invocation, reason, message, now), signal);
  ports.metrics.refused(reason);
  ports.metrics.operationEnded(command, "held");
  ports.publisher.invocationBecame(stored, "Held", `${reason}: ${message}`);
  log.info({ commandId, code: reason }, "operation refused");
  return undefined;
}
