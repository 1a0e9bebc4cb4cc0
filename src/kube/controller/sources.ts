import { type Clock, type Random, sleep, systemRandom } from "../../base/clock.ts";
import type { Change } from "../cache/cache.ts";
import { keyOf, type Resource } from "../objects/resource.ts";
import { everything, type HasMeta, type Predicate } from "./predicates.ts";

/** Puts a key in line, now or `afterMs` from now. */
export type Enqueue = (key: string, afterMs?: number) => void;

/** Where a controller's keys come from. */
export interface Source {
  /** For logs, and for the error when it does not sync. */
  readonly name: string;
  /** Begins to enqueue, and stops when `signal` aborts. Does not wait. */
  start(enqueue: Enqueue, signal: AbortSignal): void;
  /** Resolves when what existed at the start has been enqueued. */
  whenSynced(signal: AbortSignal): Promise<void>;
}

/** The part of an informer that a source uses. */
export interface Watched<T> {
  readonly resource: Pick<Resource, "kind">;
  readonly store: { values(): Iterable<T> };
  onChange(listener: (change: Change<T>) => void): () => void;
  whenSynced(signal: AbortSignal): Promise<void>;
}

/** Keys of the objects to reconcile because of `object`. Called for an update's old and new state both. */
export type KeyMap<T> = (object: T, change: Change<T>) => readonly string[];

/**
 * Reconciles on changes of a kind. An update maps the old and the new object, so that an object which moves from one
 * owner to another wakes both; a key that both give is enqueued once, or an idle worker would take it at once and run it
 * again after that. May start before or after the informer: what is stored already counts as added.
 *
 * @param map default: the object's own key.
 */
export function watches<T extends HasMeta>(
  informer: Watched<T>,
  map: KeyMap<T> = ownKey,
  predicate: Predicate<T> = everything,
): Source {
  return {
    name: informer.resource.kind,
    start(enqueue, signal) {
      if (signal.aborted) return;
      const listener = (change: Change<T>): void => {
        if (!predicate(change)) return;
        const before = change.type === "updated" ? map(change.previous, change) : [];
        for (const key of new Set([...before, ...map(change.object, change)])) enqueue(key);
      };
      const stop = informer.onChange(listener);
      signal.addEventListener("abort", stop, { once: true });
      for (const object of informer.store.values()) listener({ type: "added", object, initial: true });
    },
    whenSynced: (signal) => informer.whenSynced(signal),
  };
}

/** No keys: holds a controller back until `informer` knows the kind, because its reconcile reads it. */
export function reads(informer: Pick<Watched<never>, "resource" | "whenSynced">): Source {
  return {
    name: informer.resource.kind,
    start: () => undefined,
    whenSynced: (signal) => informer.whenSynced(signal),
  };
}

/**
 * What an owner reference is matched by. The version is left out: an owner keeps its children when its kind is
 * upgraded.
 */
export interface OwnerKind {
  readonly group: string;
  readonly kind: string;
  /** Default true. A cluster-scoped owner's key is its name alone. */
  readonly namespaced?: boolean;
}

/** Reconciles the controller (`controller: true`) of the changed object, when it is an `owner`. */
export function owns<T extends HasMeta>(informer: Watched<T>, owner: OwnerKind, predicate?: Predicate<T>): Source {
  const map: KeyMap<T> = ({ metadata }) => {
    const reference = metadata.ownerReferences?.find((each) => each.controller === true);
    if (reference === undefined || reference.kind !== owner.kind || groupOf(reference.apiVersion) !== owner.group) {
      return [];
    }
    const namespace = owner.namespaced === false ? undefined : metadata.namespace;
    return [keyOf({ metadata: { name: reference.name, namespace } })];
  };
  return watches(informer, map, predicate);
}

export interface TriggeredSource extends Source {
  /** Enqueues in every controller that has started this source. While none has, the key is kept for the next one. */
  trigger(key: string, afterMs?: number): void;
}

/**
 * Keys from code: a message from elsewhere, a test.
 *
 * @param atStart keys that wait for the first controller.
 */
export function triggered(name: string, atStart: readonly string[] = []): TriggeredSource {
  const started = new Set<Enqueue>();
  const waiting = new Set(atStart);
  return {
    name,
    start(enqueue, signal) {
      if (signal.aborted) return;
      started.add(enqueue);
      signal.addEventListener("abort", () => started.delete(enqueue), { once: true });
      for (const key of waiting) enqueue(key);
      waiting.clear();
    },
    whenSynced: () => Promise.resolve(),
    trigger(key, afterMs) {
      if (started.size === 0) waiting.add(key);
      for (const enqueue of started) enqueue(key, afterMs);
    },
  };
}

/** Something that is no kind of object, and tells when it changes: an `AccessWatch`, a file. */
export interface Notifier {
  readonly name: string;
  onChange(listener: () => void): void;
  whenSynced(signal: AbortSignal): Promise<void>;
}

/** Reconciles `keys()` each time that `notifier` changes. */
export function notifiedBy(notifier: Notifier, keys: () => readonly string[]): Source {
  return {
    name: notifier.name,
    start(enqueue, signal) {
      notifier.onChange(() => {
        if (signal.aborted) return;
        for (const key of keys()) enqueue(key);
      });
    },
    whenSynced: (signal) => notifier.whenSynced(signal),
  };
}

export interface PeriodicOptions {
  readonly clock: Clock;
  readonly random?: Random;
}

/** controller-runtime's resync jitter: replicas that start together do not stay together. */
const PERIOD_JITTER = 0.1;

/** Enqueues `keys()` every `everyMs` ± 10 %, the first time after one period: the start is the other sources' work. */
export function periodic(everyMs: number, keys: () => readonly string[], options: PeriodicOptions): Source {
  const { clock, random = systemRandom } = options;
  const loop = async (enqueue: Enqueue, signal: AbortSignal): Promise<void> => {
    for (;;) {
      await sleep(clock, everyMs * (1 + PERIOD_JITTER * (2 * random() - 1)), signal);
      for (const key of keys()) enqueue(key);
    }
  };
  return {
    name: `every ${everyMs} ms`,
    start(enqueue, signal) {
      // Ends only by the abort, which is not an error.
      loop(enqueue, signal).catch(() => undefined);
    },
    whenSynced: () => Promise.resolve(),
  };
}

function ownKey<T extends HasMeta>(object: T): readonly string[] {
  return [keyOf(object)];
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
