import { type Clock, type Random, sleep, systemRandom } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { orAborted } from "../../base/or-aborted.ts";
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import type { WatchMetrics } from "../metrics/metrics.ts";
import type { Resource } from "../objects/resource.ts";
import { Interner } from "../projection/interner.ts";
import type { Projection } from "../projection/projection.ts";
import { DecodeError } from "../projection/protobuf.ts";
import { Cache, type Listener } from "./cache.ts";
import { CacheWriter } from "./cache-writer.ts";
import { listPages } from "./list-pages.ts";
import type { Limited, ObjectLimit } from "./object-limit.ts";
import {
  failureOf,
  INITIAL_MEMORY,
  INITIAL_STATE,
  type Memory,
  type Outcome,
  type ReflectorState,
  type Step,
  step,
} from "./reflector.ts";
import type { Cached, IndexFunction, ReadonlyStore } from "./store.ts";
import { type WatchTarget, watch } from "./watch.ts";

export interface InformerOptions<T extends Cached> {
  readonly client: Client;
  readonly resource: Resource;
  /** Which fields are kept: a shape of `shapes.ts` or of your own, or `jsonProjection()` for custom resources. */
  readonly projection: Projection<T>;
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Of what the server sends, what is stored: for a bound that no selector can say. @default all */
  readonly keep?: ((object: T) => boolean) | undefined;
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Shared with other caches. Beyond it the largest of them holds nothing for ten minutes: `isTooLarge`. @default none */
  readonly limit?: ObjectLimit | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: WatchMetrics | undefined;
  readonly random?: Random;
  /** Deep-freeze what is stored, so that a reader who changes a shared object throws. For tests; costs time. */
  readonly freeze?: boolean;
}

/** The server closes a watch after a random time in this range, so that many do not come back together (client-go). */
const MIN_WATCH_SECONDS = 300;
/** An API server that has just started refuses everything until it has read its rules. */
const REFUSED_AFTER_MS = 10_000;

/**
 * The cache of one kind: a store that follows the server, and listeners to its changes.
 *
 * While a list is being received, readers see the old content until the new one is whole.
 */
export class Informer<T extends Cached> implements Limited {
  readonly resource: Resource;
  readonly #options: InformerOptions<T>;
  readonly #target: WatchTarget<T>;
  readonly #cache: Cache<T>;
  readonly #random: Random;
  readonly #sync = Promise.withResolvers<void>();
  readonly #settled = Promise.withResolvers<void>();
  #synced = false;
  #failing = false;
  #refusal: { readonly message: string; readonly firstAtMs: number; readonly lastAtMs: number } | undefined;
  #currentAtMs: number | undefined;
  #isTooLarge = false;
  #received = (): number => 0;
  #drop: AbortController | undefined;
  /** Ends the pause before the next try; undefined while there is none. */
  #wake: (() => void) | undefined;

  constructor(options: InformerOptions<T>) {
    const { client, resource, projection, clock, log, namespace, labelSelector, fieldSelector } = options;
    this.resource = resource;
    this.#options = options;
    const strings = new Interner();
    this.#target = { client, resource, projection, strings, clock, namespace, labelSelector, fieldSelector };
    const { indexes = {}, freeze = false, keep } = options;
    this.#cache = new Cache({ indexes, clock, log, freeze, keep });
    this.#random = options.random ?? systemRandom;
    options.limit?.join(this);
  }

  get size(): number {
    return Math.max(this.store.size, this.#received());
  }

  get store(): ReadonlyStore<T> {
    return this.#cache.store;
  }

  /** True once the first list is stored and all listeners were called; a broken watch does not take it back. */
  get synced(): boolean {
    return this.#synced;
  }

  /**
   * The server's words while it refuses (403) to let this process read the kind. What was read before is refused only
   * once it has refused for a while: the first refusals of a server that has just started mean nothing.
   */
  get refusal(): string | undefined {
    if (this.#refusal === undefined) return undefined;
    const { message, firstAtMs, lastAtMs } = this.#refusal;
    return this.#synced && lastAtMs - firstAtMs < REFUSED_AFTER_MS ? undefined : message;
  }

  /** Whether it holds nothing because there is too much. */
  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  /**
   * When the server last said that the store is what it has, by the injected clock's monotonic time: with an event, a
   * bookmark or a list. Undefined: not yet. It grows old while a watch is broken.
   */
  get currentAtMs(): number | undefined {
    return this.#currentAtMs;
  }

  /** Resolves when {@link synced}; rejects with `signal.reason`. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return orAborted(this.#sync.promise, signal);
  }

  /**
   * Resolves when {@link synced}, or once the server has refused: a right that is missing must not hold up the rest.
   */
  whenSettled(signal: AbortSignal): Promise<void> {
    return orAborted(this.#settled.promise, signal);
  }

  /** Tries again now if it waits for a retry: the caller knows that what failed may work again. */
  retryNow(): void {
    this.#wake?.();
  }

  /**
   * Called for each change, in order, within the loop that reads the stream: enqueue a key and return. A listener
   * that throws is logged and goes on being called. Returns the function that removes it.
   */
  onChange(listener: Listener<T>): () => void {
    return this.#cache.onChange(listener);
  }

  /** Follows the server until `signal` aborts; then resolves. Gives up for no failure. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#options;
    const kind = this.resource.plural;
    let state: ReflectorState = INITIAL_STATE;
    let memory: Memory = INITIAL_MEMORY;
    metrics?.synced(kind, this.#synced);
    try {
      while (!signal.aborted) {
        const outcome = await this.#enterWithin(state, signal);
        const next = step(state, outcome, memory, clock.monotonicMs(), this.#random);
        if (next.reason !== undefined) metrics?.restart(kind, next.reason);
        this.#report(outcome, next);
        ({ state, memory } = next);
        if (next.delayMs > 0) await this.#pause(clock, next.delayMs, signal);
      }
    } catch (error) {
      // Everything that can go wrong on the wire is an outcome; what is thrown is the abort, or a mistake in this room.
      if (!signal.aborted) throw error;
    }
  }

  async #enterWithin(state: ReflectorState, signal: AbortSignal): Promise<Outcome> {
    if (this.#options.limit === undefined) return this.#enter(state, signal);
    const dropped = new AbortController();
    this.#drop = dropped;
    try {
      return await this.#enter(state, AbortSignal.any([signal, dropped.signal]));
    } catch (error) {
      if (signal.aborted || !dropped.signal.aborted) throw error;
      return { of: "too-large" };
    } finally {
      [this.#received, this.#drop] = [() => 0, undefined];
    }
  }

  giveWay(): void {
    const fields = { kind: this.resource.plural, objects: this.size };
    if (!this.#isTooLarge) this.#options.log.warn(fields, "too many objects; this kind is not held");
    this.#isTooLarge = true;
    this.#currentAtMs = undefined;
    this.#cache.clear();
    this.#options.metrics?.objects(fields.kind, 0);
    this.#drop?.abort();
  }

  #enter(state: ReflectorState, signal: AbortSignal): Promise<Outcome> {
    switch (state.at) {
      case "watch-list":
        return this.#watch(undefined, signal);
      case "watch":
        return this.#watch(state.resourceVersion, signal);
      case "list":
        return this.#list(signal);
    }
  }

  async #watch(resourceVersion: string | undefined, signal: AbortSignal): Promise<Outcome> {
    const { clock, metrics, limit } = this.#options;
    const writer = new CacheWriter({
      cache: this.#cache,
      kind: this.resource.plural,
      metrics,
      resourceVersion,
      now: () => clock.wallNow().getTime() / 1000,
      signal,
      onHeard: () => {
        this.#onHealed();
        // While a first set is still coming, what readers see is older than it.
        if (writer.resourceVersion !== undefined) this.#currentAtMs = clock.monotonicMs();
        limit?.check();
      },
      onFilled: () => this.#onFilled(),
    });
    this.#received = () => writer.received;
    const startedMs = clock.monotonicMs();
    const timeoutSeconds = Math.floor(MIN_WATCH_SECONDS * (1 + this.#random()));
    const end = await watch(this.#target, { resourceVersion, timeoutSeconds }, writer, signal);
    if (writer.isUnsupported) return { of: "unsupported" };
    const durationMs = clock.monotonicMs() - startedMs;
    return { of: "watch", end, resourceVersion: writer.resourceVersion, events: writer.events, durationMs };
  }

  async #list(signal: AbortSignal): Promise<Outcome> {
    const draft = this.#cache.draft();
    this.#received = () => draft.store.size;
    const onItem = (object: T): void => {
      draft.apply("ADDED", object);
      this.#options.limit?.check();
      signal.throwIfAborted();
    };
    try {
      const resourceVersion = await listPages(this.#target, onItem, signal);
      await this.#cache.adopt(draft, signal);
      this.#options.metrics?.objects(this.resource.plural, this.store.size);
      this.#onFilled();
      this.#onHealed();
      return { of: "list", resourceVersion };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError || error instanceof DecodeError) return { of: "list-failed", error };
      throw error;
    }
  }

  async #pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    try {
      await sleep(clock, delayMs, AbortSignal.any([signal, woken.signal]));
    } catch (error) {
      if (signal.aborted) throw error;
    } finally {
      this.#wake = undefined;
    }
  }

  #onHealed(): void {
    this.#refusal = undefined;
    if (this.#failing) this.#options.log.info({ kind: this.resource.plural }, "watch healed");
    this.#failing = false;
  }

  #onFilled(): void {
    this.#currentAtMs = this.#options.clock.monotonicMs();
    this.#isTooLarge = false;
    if (this.#synced) return;
    this.#synced = true;
    this.#options.metrics?.synced(this.resource.plural, true);
    this.#sync.resolve();
    this.#settled.resolve();
  }

  /** A warning when it begins to fail, silence while it goes on, a word when it is over. */
  #report(outcome: Outcome, next: Step): void {
    const { log } = this.#options;
    const kind = this.resource.plural;
    const failure = failureOf(outcome);
    if (next.reason === "unmarked") {
      log.warn({ kind }, "the server does not mark the end of a watch-list: the kind is read with LIST for an hour");
      return;
    }
    if (outcome.of === "too-large" || (failure === undefined && next.delayMs === 0)) return;
    if (failure instanceof ApiError && failure.isForbidden) {
      const lastAtMs = this.#options.clock.monotonicMs();
      this.#refusal = { message: failure.message, firstAtMs: this.#refusal?.firstAtMs ?? lastAtMs, lastAtMs };
      this.#settled.resolve();
    }
    const fields = { kind, reason: next.reason, delayMs: Math.round(next.delayMs), err: failure };
    if (this.#failing) log.debug(fields, "watch still failing");
    else log.warn(fields, "watch failed, will be tried again");
    this.#failing = true;
  }
}
