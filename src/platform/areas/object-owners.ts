import type { NamedKeys } from "../objects/object-sweep.ts";
import { namedSessionFiles } from "./debug-sessions/files.ts";
import { namedBundles } from "./operations/bundles/bundle-storage.ts";
import { namedPackages } from "./packages/store.ts";

/** For each first segment of object keys: which of the keys the owning area still references. */
export const OBJECT_OWNERS: ReadonlyMap<string, NamedKeys> = new Map([
  ["debug-sessions", namedSessionFiles],
  ["packages", namedPackages],
  ["plugins", namedBundles],
  // Uploads of bundles are temporary: registering a plugin copies the bundle to another key.
  ["uploads", async () => new Set<string>()],
]);
