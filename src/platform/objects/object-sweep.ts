import { readFile } from "node:fs/promises";
import type { Db } from "../database/db.ts";
import type { CleanUp } from "../kernel/sweeps/sweep.ts";
import type { ObjectPage, ObjectStore } from "../ports/object-store.ts";
import { linkSignature } from "./signed-path.ts";

/**
 * Finds which of the keys the database still references. All keys begin with the segment for which the function is
 * registered. A key without a reference must never get a new one: there is no lock between this query and the removal.
 */
export type NamedKeys = (db: Db, keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** An object is stored before the row that references it. No request, build or upload address lasts as long as this. */
export const OBJECT_GRACE_MS = 24 * 3_600_000;
/** Objects checked in one run, so that a large store does not delay the other sweeps. */
export const OBJECTS_PER_RUN = 500;
const RUN_MS = 30_000;

/**
 * Holds the signature of the platform that owns the store. Another platform would delete all objects, because its
 * database references none.
 */
export const OWNER_KEY = "owner";
const MAX_OWNER_BYTES = 256;

export interface ObjectSweepParts {
  /** Undefined: the sweep does nothing. */
  readonly store: ObjectStore | undefined;
  /** Key made by `urlKey`. */
  readonly secret: Uint8Array;
  /** By the first segment of the key. The sweep never removes objects under other segments. */
  readonly owners: ReadonlyMap<string, NamedKeys>;
  readonly signal: AbortSignal;
}

/**
 * Removes objects that no row references. Code deletes a row before its object: a crash between them leaves an unused
 * object, which a later run removes, and never a row without its object. Each run checks the next page of the store.
 */
export function objectSweep({ store, secret, owners, signal }: ObjectSweepParts): CleanUp {
  if (store === undefined) return async () => undefined;
  let after: string | undefined;
  return async (db, now) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(RUN_MS)]);
    if (!(await isOurs(store, secret, limited))) return;
    const from = after;
    // After a failed page the next run begins at the first page.
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

/**
 * Whether this platform owns the store. Without an owner it writes its own signature and returns false; the next run
 * checks that the signature is still there.
 * @throws Error when another platform owns the store.
 */
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
