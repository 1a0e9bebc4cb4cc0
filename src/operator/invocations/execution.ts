import { type Clock, sleep } from "../../base/clock.ts";
import { errorText } from "../../crds/printable.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Access, AccessRequest } from "../access/access.ts";
import {
  type BoundOperation,
  Effect,
  type OperationClient,
  OperationError,
  type OperationResult,
} from "../operations/operation.ts";
import { OperationStopped } from "../operations/running-operations.ts";
import { boundedResult } from "./result.ts";

/** Error codes of an invocation; the wire's own words for a runner. */
export type FailureCode = "HANDLER_ERROR" | "HANDLER_TIMEOUT";

/** What became of one operation. Failed: certainly without effect, or with one that was seen to be wrong. */
export type Outcome =
  | { readonly state: "Succeeded"; readonly result: OperationResult }
  | { readonly state: "Failed"; readonly code: FailureCode; readonly message: string }
  | { readonly state: "Unknown"; readonly message: string };

export interface ExecutionPorts {
  readonly access: Pick<Access, "open">;
  /** The API server as the grant's own account. */
  readonly clientFor: (token: string) => OperationClient;
  /** Throws when another process may be leading. */
  readonly fence: () => void;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
}

export interface Execution {
  readonly bound: BoundOperation;
  readonly access: AccessRequest;
  readonly startedAt: Date;
}

/** A new binding is not known to every API server at once (0.1 s on one); longer than this, a refusal is meant. */
const FORBIDDEN_FOR_MS = 2_000;
/**
 * An API server that has just started refuses all requests until it has read its roles: seconds, on a busy machine. For
 * this long our own account's being refused is not believed.
 */
export const ROLES_READ_MS = 10_000;
const FIRST_RETRY_MS = 10;
const MAX_RETRY_MS = 1_000;

/**
 * Runs one claimed operation as the grant's own account, and verifies it. Never throws: an error is an outcome, too.
 *
 * @param signal aborts with {@link OperationStopped}: at the time limit, on revocation, at the window's end, on
 * shutdown.
 */
export async function execute(execution: Execution, ports: ExecutionPorts, signal: AbortSignal): Promise<Outcome> {
  const effect = new Effect(ports.fence);
  try {
    const result = await untilAnswered(effect, ports.clock, signal, async () => {
      const open = (): Promise<string> => ports.access.open(execution.access, signal);
      const token = await withForbiddenRetried(effect, ROLES_READ_MS, ports.clock, signal, open);
      const call = {
        client: ports.clientFor(token),
        effect,
        clock: ports.clock,
        startedAt: execution.startedAt,
        redact: ports.redact,
      };
      return withForbiddenRetried(effect, FORBIDDEN_FOR_MS, ports.clock, signal, async () => {
        signal.throwIfAborted();
        const done = await execution.bound.run(call, signal);
        return execution.bound.verify(call, done, signal);
      });
    });
    return { state: "Succeeded", result: boundedResult(result, ports.redact) };
  } catch (error) {
    return outcomeOf(error, effect.state, ports.redact);
  }
}

/** An API server that is restarting costs time, not the operation: nothing has been sent yet, and the claim is ours. */
async function untilAnswered<T>(effect: Effect, clock: Clock, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
    try {
      return await run();
    } catch (error) {
      const again = error instanceof ApiError && error.isTransient && effect.state === "none";
      if (!again || signal.aborted) throw error;
    }
    await sleep(clock, delayMs, signal);
  }
}

/** 401: the server has not seen the new account yet. 403: nor its binding. Both say that nothing was done. */
async function withForbiddenRetried<T>(
  effect: Effect,
  forMs: number,
  clock: Clock,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  const startedMs = clock.monotonicMs();
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
    try {
      return await run();
    } catch (error) {
      const early = clock.monotonicMs() + delayMs - startedMs <= forMs;
      const refused = error instanceof ApiError && (error.isForbidden || error.isUnauthorized);
      if (!refused || !early || effect.state !== "none") throw error;
    }
    await sleep(clock, delayMs, signal);
  }
}

function outcomeOf(error: unknown, effect: Effect["state"], redact: (text: string) => string): Outcome {
  const message = redact(errorText(error));
  // Answered, looked at, and found wrong: that is knowledge.
  if (error instanceof OperationError) {
    return failed("HANDLER_ERROR", effect === "applied" ? `it was done, but: ${message}` : message);
  }
  if (effect === "sent") {
    return { state: "Unknown", message: `${message}; the request may have been carried out and cannot be unsent` };
  }
  if (effect === "applied") {
    return {
      state: "Unknown",
      message: `${message}; the API server accepted the change, its verification did not end`,
    };
  }
  if (error instanceof OperationStopped) {
    const code = error.because === "time limit" ? "HANDLER_TIMEOUT" : "HANDLER_ERROR";
    return failed(code, `stopped before anything was changed: ${error.because}`);
  }
  return failed("HANDLER_ERROR", message);
}

function failed(code: FailureCode, message: string): Outcome {
  return { state: "Failed", code, message };
}
