import { isDeepStrictEqual } from "node:util";
import type { Change } from "../cache/cache.ts";

/** What sources and predicates read of an object. A field that the projection leaves out never changes. */
export interface HasMeta {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly resourceVersion: string;
    readonly generation?: number | undefined;
    readonly labels?: object | undefined;
    readonly annotations?: object | undefined;
    readonly ownerReferences?: readonly Owner[] | undefined;
  };
}

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly controller?: boolean | undefined;
}

/** Whether a change is worth a reconcile. Adds and deletes pass all of these; they judge updates. */
export type Predicate<T> = (change: Change<T>) => boolean;

function onUpdate<K extends keyof HasMeta["metadata"]>(field: K): Predicate<HasMeta> {
  return (change) =>
    change.type !== "updated" || !isDeepStrictEqual(change.object.metadata[field], change.previous.metadata[field]);
}

export const everything: Predicate<unknown> = () => true;

/**
 * The spec changed, or deletion was asked for: status writes, ours among them, pass by. Only for kinds that count
 * generations: on others (ConfigMap, Pod before 1.33, ServiceAccount) it lets no update through.
 */
export const generationChanged: Predicate<HasMeta> = onUpdate("generation");

/** Anything changed: drops the replays that a relist makes of objects that stayed the same. */
export const resourceVersionChanged: Predicate<HasMeta> = onUpdate("resourceVersion");

export const labelsChanged: Predicate<HasMeta> = onUpdate("labels");

export const annotationsChanged: Predicate<HasMeta> = onUpdate("annotations");

export function and<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change));
}

export function or<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

export function not<T>(predicate: Predicate<T>): Predicate<T> {
  return (change) => !predicate(change);
}
