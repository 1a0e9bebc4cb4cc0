import { readFile } from "node:fs/promises";
import type { Db } from "../database/db.ts";
import type { CleanUp } from "../kernel/sweeps/sweep.ts";
import type { ObjectPage, ObjectStore } from "../ports/object-store.ts";
import { linkSignature } from "./signed-path.ts";

/**
 * Which of these keys rows still name. All of them begin with the segment that the answer is registered for. A key that
 * no row names must never be named again by another row: between the question and the removal nobody holds a lock.
 */
export type NamedKeys = (db: Db, keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** Objects come before the rows that name them: no request, build or upload address lasts that long. */
export const OBJECT_GRACE_MS = 24 * 3_600_000;
/** Objects looked at in one run; then the others wait no longer for their sweeps. */
export const OBJECTS_PER_RUN = 500;
const RUN_MS = 30_000;

/** Says whose the objects are: to another platform all of them look forgotten. */
export const OWNER_KEY = "owner";
const MAX_OWNER_BYTES = 256;

export interface ObjectSweepParts {
  /** Undefined: there is nothing to sweep. */
  readonly store: ObjectStore | undefined;
  /** Of `urlKey`. */
  readonly secret: Uint8Array;
  /** By the first segment of keys; others are not the platform's to remove. */
  readonly owners: ReadonlyMap<string, NamedKeys>;
  readonly signal: AbortSignal;
}

/**
 * Removes objects that no row names (any more): a row always goes first, so that a crash leaves an object too many, which
 * a later run finds, and never a row without its object. Each run looks at the next page of the store.
 */
export function objectSweep({ store, secret, owners, signal }: ObjectSweepParts): CleanUp {
  if (store === undefined) return async () => undefined;
  let after: string | undefined;
  return async (db, now) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(RUN_MS)]);
    if (!(await isOurs(store, secret, limited))) return;
    const from = after;
    // Where a page fails, the walk begins again.
    after = undefined;
    const page = await store.list(from, OBJECTS_PER_RUN, limited);
    const old = page.objects.filter(({ modifiedAt }) => now.getTime() - modifiedAt.getTime() > OBJECT_GRACE_MS);
    for (const [owner, keys] of byFirstSegment(old)) {
      const named = await owners.get(owner)?.(db, keys);
      if (named === undefined) continue;
      for (const key of keys) if (!named.has(key)) await store.remove(key, limited);
    }
    after = page.next;
  };
}

/** False when nobody has said so yet: we have now, and look whether it stayed in the next run. */
async function isOurs(store: ObjectStore, secret: Uint8Array, signal: AbortSignal): Promise<boolean> {
  const us = linkSignature(secret, OWNER_KEY);
  const owner = await store.withFile(OWNER_KEY, MAX_OWNER_BYTES, (file) => readFile(file, "utf8"), signal);
  if (owner === us) return true;
  if (owner !== undefined) throw new Error("the object store is another platform's too: give each a place of its own");
  await store.put(OWNER_KEY, Buffer.from(us), "text/plain", signal);
  return false;
}

function byFirstSegment(objects: ObjectPage["objects"]): Map<string, string[]> {
  const keys = objects.map(({ key }) => key);
  return Map.groupBy(keys, (key) => key.split("/")[0] ?? "");
}
