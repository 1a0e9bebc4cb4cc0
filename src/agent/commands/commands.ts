import type { Clock } from "../../base/clock.ts";
import { objectName } from "../../crds/group.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import { MAX_API_ERROR, printable } from "../../crds/printable.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { Capacity } from "../kernel/capacity.ts";
import type { AgentMetrics } from "../kernel/metrics.ts";
import type { Snapshot } from "../kernel/snapshot.ts";
import { isGone, isUnacceptable } from "../platform-link/platform-answer.ts";
import type { Platform } from "../platform-link/routes.ts";
import { type CommandStep, type NewInvocation, nextStep } from "./command.ts";
import { type CommandEnd, failed } from "./command-end.ts";
import { type ListedCommand, readListedCommand } from "./listed-command.ts";

/** All the I/O of this reconciler, as functions. Each is idempotent. */
export interface CommandPorts {
  /** Whether the customer accepts this deployment. */
  readonly accepts: (deploymentId: string) => boolean;
  readonly platform: Pick<Platform["commands"], "get" | "dispatch" | "complete">;
  readonly cached: (name: string) => OperationInvocation | undefined;
  /** From the API server itself. */
  readonly read: (name: string, signal: AbortSignal) => Promise<OperationInvocation | undefined>;
  readonly capacity: Pick<Capacity, "fullBecause" | "made" | "unmade">;
  readonly create: (invocation: NewInvocation, signal: AbortSignal) => Promise<OperationInvocation>;
}

export interface CommandsOptions {
  readonly snapshot: Snapshot<ListedCommand>;
  readonly ports: CommandPorts;
  readonly grantsNamespace: string;
  readonly clock: Clock;
  readonly metrics: Pick<AgentMetrics, "commandEnded" | "commandDispatched">;
  /** Reconciles this command. */
  readonly trigger: (id: string) => void;
}

/** The plan whose command an answer of the platform may carry. */
export interface ClaimedPlan {
  readonly deploymentId: string;
  readonly requestId: string;
}

/** Dispatch, create, complete, and a margin: more steps in one run mean that two sides contradict each other. */
const MAX_STEPS = 8;
const CONTRADICTION_RETRY_MS = 30_000;
const AFTER_FULL_MS = 5_000;

/** Brings each command of the platform to its end: claimed there, invoked here, its result reported there. */
export class Commands {
  readonly #options: CommandsOptions;
  /** Ids whose invocation this process has seen: one that is gone again was deleted, and is not made anew. */
  readonly #seen = new Set<string>();
  /** Ids that this process has claimed and not looked for in the cluster since: nothing can be there yet. */
  readonly #fresh = new Set<string>();
  /** Deployments whose commands were said to wait for room. Accepted ones only, so the customer bounds it. */
  readonly #crowded = new Set<string>();

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /**
   * The next command of a plan, which the platform claimed for us with its answer to a report. Only a short cut: what
   * is not taken here, or lost with the process or the answer, is DISPATCHED on the platform, and its listing brings
   * it.
   */
  readonly claimed = (items: unknown, { deploymentId, requestId }: ClaimedPlan): void => {
    const { snapshot, metrics, trigger } = this.#options;
    const [item] = Array.isArray(items) ? items : [];
    const command = readListedCommand(item);
    if (command?.state !== "DISPATCHED" || command.deploymentId !== deploymentId || !command.wanted.fit) return;
    if (command.wanted.run.accessRequestId !== requestId || !snapshot.add(deploymentId, command)) return;
    metrics.commandDispatched("won");
    this.#fresh.add(command.id);
    trigger(command.id);
  };

  /** @param id of the command. */
  readonly reconcile = async (id: string, { signal, log }: ReconcileContext): Promise<Result> => {
    const { snapshot, ports, clock, grantsNamespace } = this.#options;
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      signal.throwIfAborted();
      const command = snapshot.get(id);
      if (command === undefined) {
        this.#seen.delete(id);
        this.#fresh.delete(id);
        return undefined;
      }
      const invocation = await this.#invocationOf(command, signal);
      const accepted = ports.accepts(command.deploymentId);
      const facts = { command, accepted, invocation, seen: this.#seen.has(id) };
      const step = nextStep(facts, grantsNamespace, clock.wallNow());
      if (step.do === "wait") return undefined;
      // It stays where it is, and ends by its deadline when no room comes.
      const isNew = step.do === "dispatch" || step.do === "create";
      if (isNew && !this.#hasRoomFor(command, log)) return { requeueAfterMs: AFTER_FULL_MS };
      log.debug({ step: step.do, deploymentId: command.deploymentId }, "command step");
      await this.#take(step, command, signal);
      // Made: its events tell the rest. The cache does not show it yet, and a look would be one more round trip.
      if (step.do === "create" && this.#seen.has(id)) return undefined;
    }
    return { requeueAfterMs: CONTRADICTION_RETRY_MS };
  };

  /** Logged once per deployment, until there is room again: the platform may list any number of commands. */
  #hasRoomFor({ deploymentId }: ListedCommand, log: ReconcileContext["log"]): boolean {
    const full = this.#options.ports.capacity.fullBecause(deploymentId);
    if (full === undefined) {
      this.#crowded.delete(deploymentId);
      return true;
    }
    if (!this.#crowded.has(deploymentId)) {
      this.#crowded.add(deploymentId);
      log.warn({ deploymentId, code: "TOO_MANY_OPEN" }, `command waits: ${full}`);
    }
    return false;
  }

  async #invocationOf(command: ListedCommand, signal: AbortSignal): Promise<OperationInvocation | undefined> {
    const { ports } = this.#options;
    const name = objectName(command.id);
    // The cache lags: its "not there" is not enough to create or to call it deleted. While the command is PENDING no
    // read is sent.
    const cached = ports.cached(name);
    if (cached === undefined && this.#fresh.delete(command.id)) return undefined;
    const invocation = cached ?? (command.state === "DISPATCHED" ? await ports.read(name, signal) : undefined);
    if (invocation !== undefined) this.#seen.add(command.id);
    return invocation;
  }

  async #take(step: Exclude<CommandStep, { do: "wait" }>, command: ListedCommand, signal: AbortSignal): Promise<void> {
    switch (step.do) {
      case "dispatch":
        return this.#dispatch(command, step.dispatchedAt, signal);
      case "create":
        return this.#create(command, step.invocation, signal);
      case "complete":
        return this.#complete(command, step.end, signal);
      case "forget":
        return this.#forget(command);
    }
  }

  async #dispatch(command: ListedCommand, dispatchedAt: string, signal: AbortSignal): Promise<void> {
    const { snapshot, ports, metrics } = this.#options;
    const params = { id: command.id };
    try {
      const { updated } = await ports.platform.dispatch({ params, body: { dispatchedAt } }, signal);
      metrics.commandDispatched(updated === true ? "won" : "lost");
      if (updated === true) {
        this.#fresh.add(command.id);
        return snapshot.update({ ...command, state: "DISPATCHED" });
      }
      // Ours from before a crash, or over: the platform's own state says which.
      const fresh = readListedCommand(await ports.platform.get({ params, query: { include: ["payload"] } }, signal));
      // Still pending though it may not be dispatched: only its deadline can have passed, by the platform's clock.
      if (fresh === undefined || fresh.state === "PENDING") return this.#forget(command);
      snapshot.update(fresh);
    } catch (error) {
      if (!isGone(error)) throw error;
      this.#forget(command);
    }
  }

  async #create(command: ListedCommand, invocation: NewInvocation, signal: AbortSignal): Promise<void> {
    const { capacity } = this.#options.ports;
    capacity.made(invocation);
    try {
      await this.#options.ports.create(invocation, signal);
      this.#seen.add(command.id);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      capacity.unmade(invocation);
      // Made by us before a crash: the next look finds it.
      if (error.isAlreadyExists) return;
      if (!error.isInvalid) throw error;
      const { clock } = this.#options;
      await this.#complete(
        command,
        failed(
          "COMMAND_HELD",
          `refused by the API server: ${printable(error.message, MAX_API_ERROR)}`,
          clock.wallNow(),
        ),
        signal,
      );
    }
  }

  async #complete(command: ListedCommand, end: CommandEnd, signal: AbortSignal): Promise<void> {
    const { ports, metrics, clock } = this.#options;
    const plan = end.state === "SUCCEEDED" ? planOf(command) : undefined;
    const claimAt = clock.wallNow().toISOString();
    try {
      const body = { ...end, ...(plan === undefined ? {} : { claimAt }) };
      const { claimed } = await ports.platform.complete({ params: { id: command.id }, body }, signal);
      metrics.commandEnded(end.state, end.error?.code);
      if (plan !== undefined) this.claimed(claimed, plan);
    } catch (error) {
      // The end counts more than the result: what the platform cannot take is left out rather than tried for ever.
      if (isUnacceptable(error) && end.result !== undefined) {
        const { result: _, responseSizeBytes: __, ...without } = end;
        return await this.#complete(command, without, signal);
      }
      if (!isGone(error)) throw error;
    }
    this.#forget(command);
  }

  #forget({ id }: ListedCommand): void {
    this.#options.snapshot.remove(id);
    this.#seen.delete(id);
    this.#fresh.delete(id);
  }
}

function planOf({ deploymentId, wanted }: ListedCommand): ClaimedPlan | undefined {
  const requestId = wanted.fit ? wanted.run.accessRequestId : undefined;
  return requestId === undefined ? undefined : { deploymentId, requestId };
}
