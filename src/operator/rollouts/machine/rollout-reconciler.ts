import { acceptedOf, type NamedDeployments } from "../../../crds/kinds/accepted-namespaces.ts";
import type { ManagedDeployment } from "../../../crds/kinds/managed-deployment.ts";
import type { OperationPolicy, OperationPolicySpec } from "../../../crds/kinds/operation-policy.ts";
import type { Rollout, RolloutState } from "../../../crds/kinds/rollout.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../../kube/controller/controller.ts";
import { mergePolicies } from "../../gate/policy.ts";
import type { WindowState } from "../../gate/release-windows.ts";
import { refusalText } from "../hands/refusal-text.ts";
import { nextRolloutStep } from "./next-step.ts";
import { type ActPorts, perform } from "./rollout-acts.ts";
import { type RolloutAct, type RolloutFacts, type RolloutStep, wait } from "./rollout-step.ts";
import { type RolloutWriterPorts, write } from "./rollout-writer.ts";
import { RolloutStopped, type RunningRollouts } from "./running-rollouts.ts";
import { isOver } from "./trail.ts";

/** What the decision reads besides the rollout. */
export interface RolloutSurroundings {
  /** Rollouts of the same deployment; the one in question may be among them. */
  readonly rollouts: readonly Rollout[];
  readonly policies: readonly Pick<OperationPolicy, "spec">[];
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
}

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface RolloutPorts extends RolloutWriterPorts, ActPorts {
  readonly metrics: RolloutWriterPorts["metrics"] & ActPorts["metrics"];
  readonly running: RunningRollouts;
  /** From the cache. */
  readonly rollout: (key: string) => Rollout | undefined;
  readonly surroundings: (rollout: Rollout) => RolloutSurroundings;
  /** From the API server itself: before what cannot be taken back. */
  readonly liveSurroundings: (rollout: Rollout, signal: AbortSignal) => Promise<RolloutSurroundings>;
  readonly named: NamedDeployments;
  /** Why nothing may be begun now: a right of the operator's own or a policy is missing. */
  readonly obstacle: () => string | undefined;
  readonly windowState: (specs: readonly OperationPolicySpec[], now: Date) => WindowState;
  /** Namespaces in which it may have had rights. */
  readonly places: (rollout: Rollout) => readonly string[];
}

const AFTER_CONFLICT_MS = 20;
const AFTER_STOP_MS = 20;
/** Steps of one look; a rollout of 64 waves has two each. */
const MAX_STEPS = 400;
const WEIGHTY: readonly RolloutState[] = ["Queued", "RollingBack", "Unknown"];

/**
 * One rollout, from the plan to its end. Each state is written, on top of exactly the version that was read, before what
 * it stands for is done, and everything that is done may be done again: a process that takes over goes on in that state.
 */
export async function reconcileRollout(key: string, ports: RolloutPorts, context: ReconcileContext): Promise<Result> {
  const cached = ports.rollout(key);
  if (cached === undefined) return undefined;
  let rollout = ports.running.newest(cached);
  try {
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const decided = await decide(rollout, ports, context);
      const step = decided.do === "act" ? await act(decided, rollout, ports, context) : decided;
      if (step.do === "rest" || step.do === "act") return undefined;
      if (step.do === "wait") {
        await write(rollout, undefined, step.said, step.fields ?? {}, ports, context);
        return { requeueAfterMs: Math.max(step.againMs, 1) };
      }
      if (step.do === "end") {
        await end(step, rollout, ports, context);
        return undefined;
      }
      rollout =
        step.do === "claim"
          ? await claim(rollout, ports, context)
          : await write(rollout, step.to, step.said, step.fields ?? {}, ports, context);
    }
    return { requeueAfterMs: AFTER_STOP_MS };
  } catch (error) {
    // Another word of the customer, or our own cache that lags: the next look has the newer version.
    if (error instanceof ApiError && error.isConflict) return { requeueAfterMs: AFTER_CONFLICT_MS };
    if (error instanceof RolloutStopped) return { requeueAfterMs: AFTER_STOP_MS };
    throw error;
  }
}

/** Caches lag: what ends a rollout, takes it back or lets it begin is decided by what the API server says now. */
async function decide(rollout: Rollout, ports: RolloutPorts, { signal }: ReconcileContext): Promise<RolloutStep> {
  const step = nextRolloutStep(factsOf(rollout, ports.surroundings(rollout), ports));
  const isWeighty = step.do === "end" || (step.do === "go" && WEIGHTY.includes(step.to));
  if (!isWeighty) return step;
  return nextRolloutStep(factsOf(rollout, await ports.liveSurroundings(rollout, signal), ports));
}

function factsOf(
  rollout: Rollout,
  { rollouts, policies, deployments }: RolloutSurroundings,
  { clock, named, obstacle, windowState }: RolloutPorts,
): RolloutFacts {
  const { deploymentId } = rollout.spec;
  const now = clock.wallNow();
  const siblings = rollouts.filter(
    ({ metadata, spec }) => metadata.uid !== rollout.metadata.uid && spec.deploymentId === deploymentId,
  );
  return {
    ...{ rollout, siblings, now, obstacle: obstacle() },
    policy: mergePolicies(policies),
    accepted: acceptedOf(deploymentId, deployments, named),
    window: windowState(
      policies.map(({ spec }) => spec),
      now,
    ),
  };
}

async function act(
  { act: what }: Extract<RolloutStep, { do: "act" }>,
  rollout: Rollout,
  ports: RolloutPorts,
  context: ReconcileContext,
): Promise<RolloutStep> {
  const { running, clock } = ports;
  const { uid } = rollout.metadata;
  const pauseMs = running.pauseMs(uid, what, clock.monotonicMs());
  if (pauseMs > 0) return wait(pauseMs);
  const step = what === "plan" ? await plan(rollout, ports, context) : await change(what, rollout, ports, context);
  running.pause(uid, what, step.do === "wait" ? clock.monotonicMs() + step.againMs : undefined);
  return step;
}

/** What people are shown, and whether it waits for one of them, is judged by what the API server says before and after. */
async function plan(rollout: Rollout, ports: RolloutPorts, context: ReconcileContext): Promise<RolloutStep> {
  const { running } = ports;
  const { uid } = rollout.metadata;
  const look = async (): Promise<RolloutFacts> =>
    factsOf(rollout, await ports.liveSurroundings(rollout, context.signal), ports);
  const facts = await look();
  const decided = nextRolloutStep(facts);
  if (decided.do !== "act") return decided;
  running.hold(uid);
  try {
    const step = await running.during(uid, context.signal, (signal) => perform("plan", facts, look, ports, signal));
    running.unplanned.forget(uid);
    return step;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const message = `the dry runs are tried again: ${refusalText(error)}`;
    context.log[running.unplanned.failures(uid) === 0 ? "warn" : "debug"]({ err: error }, "rollout not planned yet");
    return wait(running.unplanned.next(uid), [["Planned", "Unknown", "InProgress", message]]);
  } finally {
    // The account of a plan goes with it; that of a rollout which runs is needed until its end.
    running.release(uid);
  }
}

function change(
  what: Exclude<RolloutAct, "plan">,
  rollout: Rollout,
  ports: RolloutPorts,
  context: ReconcileContext,
): Promise<RolloutStep> {
  const { uid } = rollout.metadata;
  ports.running.hold(uid);
  const look = async (): Promise<RolloutFacts> => factsOf(rollout, ports.surroundings(rollout), ports);
  const facts = factsOf(rollout, ports.surroundings(rollout), ports);
  return ports.running.during(uid, context.signal, (signal) => perform(what, facts, look, ports, signal));
}

/**
 * From here on the deployment's objects are this rollout's to change. Two rollouts of a deployment that are looked at side
 * by side claim one after the other, each by a list that has the other's claim.
 */
async function claim(rollout: Rollout, ports: RolloutPorts, context: ReconcileContext): Promise<Rollout> {
  return ports.running.alone(rollout.spec.deploymentId, async () => {
    const surroundings = await ports.liveSurroundings(rollout, context.signal);
    const step = nextRolloutStep(factsOf(rollout, surroundings, ports));
    // Something has come in between: the next turn of the loop has it, and ends in another step than this one.
    if (step.do !== "claim") throw new RolloutStopped("the claim does not hold any more");
    return write(rollout, step.to, step.said, step.fields, ports, context);
  });
}

/** Bindings and accounts first: a rollout that says it is over has no rights any more. */
async function end(
  step: Extract<RolloutStep, { do: "end" }>,
  rollout: Rollout,
  ports: RolloutPorts,
  context: ReconcileContext,
): Promise<void> {
  const { uid } = rollout.metadata;
  context.signal.throwIfAborted();
  ports.fence();
  await ports.hands.close(rollout, ports.places(rollout), context.signal);
  const ended = await write(rollout, step.to, step.said, step.fields ?? {}, ports, context);
  if (isOver(ended)) ports.running.ended(uid);
}
