import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../base/is-record.ts";

/**
 * Lists that server-side apply merges by key, by field name. Others' entries in them are none of our business; all
 * other lists are ours as a whole. Kubernetes' own `listMapKey`s, the ones a reconciler writes.
 */
const LIST_KEYS: Readonly<Record<string, string>> = {
  conditions: "type",
  containers: "name",
  env: "name",
  initContainers: "name",
  ownerReferences: "uid",
  volumes: "name",
};
/** Sets: merged by value. */
const SETS: ReadonlySet<string> = new Set(["finalizers"]);

/**
 * Whether `current` lacks anything of `desired`: skip the server-side apply when not. Without this an apply on each
 * event is an event on each apply, for ever.
 *
 * Defaults that the server filled in do not count. A field that `desired` no longer has is not noticed: to give up a
 * field, apply once unconditionally. Quantities and such compare as written, so write them in canonical form.
 */
export function needsApply(current: object | undefined, desired: object): boolean {
  return current === undefined || !includes(current, desired, "");
}

function includes(current: unknown, desired: unknown, field: string): boolean {
  if (desired === undefined) return true;
  if (Array.isArray(desired)) return Array.isArray(current) && includesList(current, desired, field);
  if (!isRecord(desired)) return isDeepStrictEqual(current, desired);
  if (!isRecord(current)) return false;
  return Object.entries(desired).every(([name, value]) => includes(current[name], value, name));
}

function includesList(current: readonly unknown[], desired: readonly unknown[], field: string): boolean {
  const key = Object.hasOwn(LIST_KEYS, field) ? LIST_KEYS[field] : undefined;
  if (key !== undefined) {
    const find = (item: unknown): unknown => current.find((each) => fieldOf(each, key) === fieldOf(item, key));
    return desired.every((item) => includes(find(item), item, ""));
  }
  if (SETS.has(field)) return desired.every((item) => current.includes(item));
  return current.length === desired.length && desired.every((item, at) => includes(current[at], item, ""));
}

function fieldOf(item: unknown, key: string): unknown {
  return isRecord(item) ? item[key] : undefined;
}
