import type { NamedKeys } from "../objects/object-sweep.ts";
import { namedSessionFiles } from "./debug-sessions/files.ts";
import { namedBundles } from "./operations/bundles/bundle-storage.ts";
import { namedPackages } from "./packages/store.ts";

/** Who puts objects under a first segment, and which of them its rows name. */
export const OBJECT_OWNERS: ReadonlyMap<string, NamedKeys> = new Map([
  ["debug-sessions", namedSessionFiles],
  ["packages", namedPackages],
  ["plugins", namedBundles],
  // Where bundles come in; what is registered has been copied from there.
  ["uploads", async () => new Set<string>()],
]);
