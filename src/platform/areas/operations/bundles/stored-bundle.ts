import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { StoredBundle } from "../../../database/tables/operations.ts";
import { type ObjectStore, ObjectTooLargeError } from "../../../ports/object-store.ts";
import { type ArchiveFile, readArchive, withArchiveFile } from "./bundle-archive.ts";

/** The file of a registered bundle cannot be used; the message completes "the bundle …". */
export class BundleError extends Error {
  override readonly name = "BundleError";
}

/**
 * Gives `work` one file of a registered plugin's archive. The archive is checked once more: it is the one that was
 * registered, and fit by the rules of today.
 * @throws BundleError
 */
export async function withBundleFile<T>(
  objects: ObjectStore,
  { key, sha256, size }: StoredBundle,
  { name, maxBytes }: { readonly name: string; readonly maxBytes: number },
  work: (file: ArchiveFile) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const look = async (file: string): Promise<{ readonly result: T }> => {
    const hash = createHash("sha256");
    await pipeline(createReadStream(file), hash, { signal });
    if (hash.digest("hex") !== sha256) throw new BundleError("is not the one that was registered");
    const [issue] = (await readArchive(file)).issues;
    if (issue !== undefined) throw new BundleError(issue.message);
    const found = await withArchiveFile(file, name, async (entry) => {
      if (entry.size > maxBytes) throw new BundleError(`has a ${name} over ${maxBytes / 1024 ** 2} MiB`);
      return { result: await work(entry) };
    });
    if (found === undefined) throw new BundleError(`has no ${name}`);
    return found;
  };
  try {
    const found = await objects.withFile(key, size, look, signal);
    if (found === undefined) throw new BundleError("is not there any more");
    return found.result;
  } catch (error) {
    if (!(error instanceof ObjectTooLargeError)) throw error;
    throw new BundleError("is not the one that was registered", { cause: error });
  }
}
