import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { StoredBundle } from "../../../database/tables/operations.ts";
import { type ObjectStore, ObjectTooLargeError } from "../../../ports/object-store.ts";
import { fileIn, readArchive } from "./bundle-archive.ts";

/** The file of a registered bundle cannot be used; the message completes "the bundle …". */
export class BundleError extends Error {
  override readonly name = "BundleError";
}

/**
 * One file of a registered plugin's archive, whole. The archive is checked once more: it is the one that was registered, and fit by
 * the rules of today.
 * @throws BundleError
 */
export async function bundleFile(
  objects: ObjectStore,
  { key, sha256, size }: StoredBundle,
  wanted: { readonly name: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const look = async (file: string): Promise<Buffer> => {
    const hash = createHash("sha256");
    await pipeline(createReadStream(file), hash, { signal });
    if (hash.digest("hex") !== sha256) throw new BundleError("is not the one that was registered");
    const [issue] = (await readArchive(file)).issues;
    if (issue !== undefined) throw new BundleError(issue.message);
    const found = await fileIn(file, wanted);
    if (typeof found === "string") throw new BundleError(found);
    return found;
  };
  try {
    const found = await objects.withFile(key, size, look, signal);
    if (found === undefined) throw new BundleError("is not there any more");
    return found;
  } catch (error) {
    if (!(error instanceof ObjectTooLargeError)) throw error;
    throw new BundleError("is not the one that was registered", { cause: error });
  }
}
