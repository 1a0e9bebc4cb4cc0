import type { Clock } from "../../base/clock.ts";
import type { Place } from "../../crds/kinds/lending.ts";
import type { OperationDeclaration } from "../../crds/operations/operation.ts";
import { type ParamsOf, type ParamsSpec, type Parsed, parseParams } from "../../crds/operations/params.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";

/** The verbs an operation may use, always as the grant's own account. */
export type OperationClient = Pick<Client, "get" | "list" | "create" | "patch" | "delete" | "getScale" | "podLogs">;

/** A small object for people and programs. Bounded and redacted again on its way out. */
export type OperationResult = Readonly<Record<string, unknown>>;

export interface OperationCall<P> {
  readonly client: OperationClient;
  readonly params: P;
  /** Every request that changes something goes through here; see {@link Effect}. */
  readonly effect: Effect;
  readonly clock: Clock;
  /** When the invocation was claimed: the same instant in every try of it. */
  readonly startedAt: Date;
  /** Foreign text without what looks like a secret, counted. */
  readonly redact: (text: string) => string;
}

interface Work<S extends ParamsSpec> {
  /** For the whole run, verification included. */
  readonly timeLimitMs: number;
  /** May be called again from the start as long as `effect` has sent nothing that was not refused. */
  readonly run: (call: OperationCall<ParamsOf<S>>, signal: AbortSignal) => Promise<OperationResult>;
  /** After the act: reads back and throws an OperationError when the cluster does not show what was asked. */
  readonly verify?: (
    call: OperationCall<ParamsOf<S>>,
    done: OperationResult,
    signal: AbortSignal,
  ) => Promise<OperationResult>;
}

/** Params that have passed the operation's own check, bound to it. */
export interface BoundOperation {
  /** Undefined for an operation on an object that has none. */
  readonly namespace: Place;
  /** The object that an operation of cluster scope works on. */
  readonly object: string | undefined;
  run(call: Unbound, signal: AbortSignal): Promise<OperationResult>;
  verify(call: Unbound, done: OperationResult, signal: AbortSignal): Promise<OperationResult>;
}
type Unbound = Omit<OperationCall<never>, "params">;

export interface Operation extends Pick<OperationDeclaration, "plugin" | "name" | "command" | "tier"> {
  readonly timeLimitMs: number;
  bind(params: Readonly<Record<string, unknown>>): Parsed<BoundOperation>;
}

/** What is declared, and how it is done here. */
export function operation<S extends ParamsSpec>(declaration: OperationDeclaration<S>, work: Work<S>): Operation {
  const { plugin, name, command, tier, scope, params: spec } = declaration;
  const { timeLimitMs, run, verify } = work;
  return Object.freeze({
    ...{ plugin, name, command, tier, timeLimitMs },
    bind(input: Readonly<Record<string, unknown>>): Parsed<BoundOperation> {
      const parsed = parseParams(spec, input);
      if (!parsed.ok) return parsed;
      const { params } = parsed;
      return {
        ok: true,
        params: {
          namespace: scope === "cluster" ? undefined : String(input.namespace),
          object: scope === "cluster" ? String(input.name) : undefined,
          run: (call, signal) => run({ ...call, params }, signal),
          verify: async (call, done, signal) => (verify ? verify({ ...call, params }, done, signal) : done),
        },
      };
    },
  });
}

/** The operation looked and said no, or did not find what was asked afterwards. The message is for the engineer. */
export class OperationError extends Error {
  override readonly name = "OperationError";
}

/**
 * Whether this run may have changed the cluster. It decides between Failed (certainly not) and Unknown (perhaps), and
 * whether a run may start again.
 */
export class Effect {
  #state: "none" | "sent" | "applied" = "none";
  readonly #fence: () => void;

  /** @param fence throws when another process may be leading; checked in the same turn in which a request is sent. */
  constructor(fence: () => void = () => undefined) {
    this.#fence = fence;
  }

  get state(): "none" | "sent" | "applied" {
    return this.#state;
  }

  /** Sends a changing request. A 4xx is the server's word that nothing changed; no answer at all proves nothing. */
  async send<T>(request: () => Promise<T>): Promise<T> {
    this.#fence();
    const before = this.#state;
    this.#state = "sent";
    try {
      const answer = await request();
      this.#state = "applied";
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) this.#state = before;
      throw error;
    }
  }
}
