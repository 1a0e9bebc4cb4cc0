import { sleep } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import type { OperationInvocation, OperationInvocationStatus } from "../../crds/kinds/operation-invocation.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { Access, AccessRequest } from "../access/access.ts";
import type { Verdict } from "../gate/gate.ts";
import type { EventPublisher } from "../kernel/event-publisher.ts";
import type { OperationOutcome, OperatorMetrics } from "../kernel/metrics.ts";
import { OperationStopped, type RunningOperations } from "../operations/running-operations.ts";
import { type ExecutionPorts, execute, type Outcome, ROLES_READ_MS } from "./execution.ts";
import { ended } from "./invocation-status.ts";
import { graceSignal, stopSignal } from "./stop-signal.ts";

export interface RunnerPorts extends ExecutionPorts {
  readonly access: Pick<Access, "open" | "close">;
  readonly writeInvocation: (
    invocation: OperationInvocation,
    status: OperationInvocationStatus,
    signal: AbortSignal,
  ) => Promise<OperationInvocation>;
  readonly liveInvocation: (
    invocation: OperationInvocation,
    signal: AbortSignal,
  ) => Promise<OperationInvocation | undefined>;
  /** Whether the cache still holds this very grant, neither revoked nor being deleted. */
  readonly grantStands: (name: string, uid: string) => boolean;
  readonly runningOperations: RunningOperations;
  readonly metrics: Pick<OperatorMetrics, "operationStarted" | "operationEnded" | "operationLeft">;
  readonly publisher: Pick<EventPublisher, "invocationBecame">;
  readonly log: Logger;
  /** How long a running operation, and then the writing of its result, may go on after the process is stopped. */
  readonly graceMs: number;
}

type Run = Extract<Verdict, { do: "run" }>;

/** Tokens live from 600 to 3600 s; an operation's longest time is a minute. Source: the TokenRequest API. */
const TOKEN_SECONDS = 600;
/** A binding outlives its operation by this at most when no sweep removes it. */
const BINDING_MARGIN_MS = 60_000;
const CLOSE_LIMIT_MS = 5_000;

/** Runs what was claimed, and sees to it that the outcome is stored. */
export class OperationRunner {
  readonly #ports: RunnerPorts;

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  /** `invocation` is stored as `Running`, by us. */
  async run(invocation: OperationInvocation, verdict: Run, startedAt: Date, context: ReconcileContext): Promise<void> {
    const { clock, metrics, runningOperations } = this.#ports;
    const { command, timeLimitMs } = verdict.operation;
    const startedMs = clock.monotonicMs();
    const { granted } = verdict;
    const untilMs = granted && granted.until.getTime() - clock.wallNow().getTime();
    const { graceMs } = this.#ports;
    const [stop, release] = stopSignal({ clock, timeLimitMs, untilMs, graceMs }, context.signal);
    const access = this.#accessFor(invocation, verdict);
    const left = runningOperations.add(access.owner.uid, stop);
    // A revocation between the claim of the line and this registration has stopped nothing. It is in the cache by now;
    // a later one finds the registration.
    if (granted && !this.#ports.grantStands(access.owner.name, granted.grantUid)) {
      stop.abort(new OperationStopped("revoked"));
    }
    metrics.operationStarted(command);
    let outcome: Outcome;
    try {
      outcome = await execute({ bound: verdict.bound, access, startedAt }, this.#ports, stop.signal);
    } finally {
      release();
      left();
      metrics.operationLeft(command);
    }
    metrics.operationEnded(command, labelOf(outcome), (clock.monotonicMs() - startedMs) / 1_000);
    await Promise.all([this.#store(invocation, outcome, context), this.#close(access, context.log)]);
  }

  /** Found Running at start: a previous process began it. Records Unknown; never reruns it. */
  async abandon(invocation: OperationInvocation, signal: AbortSignal): Promise<Result> {
    const { clock, fence, writeInvocation, metrics, publisher } = this.#ports;
    const message = "the operator that ran it ended before it could say what became of it";
    const outcome = { state: "Unknown", message } as const;
    fence();
    try {
      const stored = await writeInvocation(invocation, ended(invocation, outcome, clock.wallNow()), signal);
      metrics.operationEnded(`${invocation.spec.plugin}/${invocation.spec.operation}`, "unknown");
      publisher.invocationBecame(stored, "Unknown", message);
    } catch (error) {
      // The cache was behind our own result; its event is on the way.
      if (!(error instanceof ApiError && error.isConflict)) throw error;
    }
    return undefined;
  }

  #accessFor(invocation: OperationInvocation, { operation, bound, granted }: Run): AccessRequest {
    const { name, uid } = invocation.metadata;
    const endMs = this.#ports.clock.wallNow().getTime() + operation.timeLimitMs + BINDING_MARGIN_MS;
    return {
      owner: granted
        ? { kind: "AccessGrant", name: invocation.spec.grantName ?? "", uid: granted.grantUid }
        : { kind: "OperationInvocation", name, uid },
      invocationUid: uid,
      plugin: operation.plugin,
      operation: operation.name,
      namespace: bound.namespace,
      expiresAt: new Date(Math.min(endMs, granted?.until.getTime() ?? endMs)),
      tokenSeconds: TOKEN_SECONDS,
    };
  }

  /** A failure here is left to the sweep. */
  async #close(access: AccessRequest, log: Logger): Promise<void> {
    const { clock, fence } = this.#ports;
    const close = (signal: AbortSignal): Promise<void> => {
      fence();
      return this.#ports.access.close(access, signal);
    };
    try {
      await withDeadline(clock, CLOSE_LIMIT_MS, new AbortController().signal, close);
    } catch (error) {
      log.warn({ err: error, namespace: access.namespace }, "access left for the sweep");
    }
  }

  /**
   * Until it is stored, or until the process must end: an outcome is known only here. On shutdown it gets the same
   * grace as the operation had; without leadership nothing is written, and the next leader says Unknown.
   */
  async #store(invocation: OperationInvocation, outcome: Outcome, context: ReconcileContext): Promise<void> {
    const { clock, fence, publisher } = this.#ports;
    const [signal, release] = graceSignal(this.#ports, context.signal);
    let current = invocation;
    let toStore = outcome;
    const startedMs = clock.monotonicMs();
    try {
      for (let delayMs = 20; ; delayMs = Math.min(delayMs * 2, 2_000)) {
        fence();
        try {
          const status = ended(current, toStore, clock.wallNow());
          const stored = await this.#ports.writeInvocation(current, status, signal);
          const said = toStore.state === "Succeeded" ? "done" : toStore.message;
          publisher.invocationBecame(stored, toStore.state, said);
          context.log.info({ commandId: invocation.spec.commandId, outcome: toStore.state }, "operation ended");
          return;
        } catch (error) {
          if (!(error instanceof ApiError) || error.isNotFound) throw error;
          const isMeant = error.isForbidden && clock.monotonicMs() - startedMs > ROLES_READ_MS;
          if (error.isInvalid || isMeant) toStore = withoutResult(toStore, error);
          else await sleep(clock, error.retryAfterMs ?? delayMs, signal);
          const latest = await this.#latest(current, signal);
          if (latest === undefined) return;
          current = latest;
        }
      }
    } finally {
      release();
    }
  }

  /** Undefined: it is final already, or gone; there is nothing left to say. */
  async #latest(invocation: OperationInvocation, signal: AbortSignal): Promise<OperationInvocation | undefined> {
    try {
      const latest = await this.#ports.liveInvocation(invocation, signal);
      const state = latest?.status?.state;
      const open = latest?.metadata.uid === invocation.metadata.uid && (state === "Running" || state === "Unknown");
      return open ? latest : undefined;
    } catch (error) {
      const isStarting = error instanceof ApiError && (error.isForbidden || error.isUnauthorized);
      if (isStarting || (error instanceof ApiError && error.isTransient)) return invocation;
      throw error;
    }
  }
}

/** The admission policy found the result too long after all: what happened matters more than what it said. */
function withoutResult(outcome: Outcome, error: ApiError): Outcome {
  const alreadyEmpty = outcome.state !== "Succeeded" || "omitted" in outcome.result;
  if (alreadyEmpty) throw error;
  return { state: "Succeeded", result: { omitted: "the API server refused to store the result", truncated: true } };
}

function labelOf(outcome: Outcome): OperationOutcome {
  if (outcome.state === "Succeeded") return "success";
  if (outcome.state === "Unknown") return "unknown";
  return outcome.code === "HANDLER_TIMEOUT" ? "timeout" : "failed";
}
