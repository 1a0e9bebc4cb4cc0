import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { sql } from "kysely";
import type { Db } from "../../../database/db.ts";
import type { StoredBundle } from "../../../database/tables/operations.ts";
import { PlatformError } from "../../../kernel/errors.ts";
import { ALPHANUMERIC, randomText } from "../../../kernel/ids.ts";
import { type ObjectStore, ObjectTooLargeError } from "../../../ports/object-store.ts";
import { readArchive } from "./bundle-archive.ts";

export const BUNDLE_CONTENT_TYPE = "application/zip";
/** §0.9. */
const MAX_BUNDLE_BYTES = 100 * 1024 ** 2;
const UPLOAD_MS = 15 * 60_000;

/** An uploaded archive that can be a bundle. */
export interface UploadedBundle {
  /** `metadata.json`, parsed; undefined when it has none. */
  readonly metadata: unknown;
  readonly files: ReadonlySet<string>;
  readonly stored: StoredBundle;
}

/** Receives and stores the archives of custom plugins. */
export interface BundleStorage {
  /** A presigned URL that accepts one archive. @throws BUNDLE_STORAGE_UNAVAILABLE */
  uploadUrl(projectId: string, name: string, now: Date): Promise<string>;
  /**
   * Stores a copy of the archive that was uploaded last; undefined when there is none.
   * @throws PLUGIN_METADATA_INVALID when it cannot be a bundle.
   */
  keep(projectId: string, name: string, signal: AbortSignal): Promise<UploadedBundle | undefined>;
}

/** Without an object store there are no uploads. */
export function bundleStorage(objects: ObjectStore | undefined): BundleStorage {
  if (objects === undefined) {
    return {
      uploadUrl: async () => {
        throw new PlatformError("BUNDLE_STORAGE_UNAVAILABLE");
      },
      keep: async () => undefined,
    };
  }
  return {
    uploadUrl: (projectId, name, now) =>
      objects.uploadUrl(uploadKey(projectId, name), {
        contentType: BUNDLE_CONTENT_TYPE,
        maxBytes: MAX_BUNDLE_BYTES,
        now,
        expiresAt: new Date(now.getTime() + UPLOAD_MS),
      }),
    keep: (projectId, name, signal) => keep(objects, projectId, name, signal),
  };
}

function uploadKey(projectId: string, name: string): string {
  return `uploads/${projectId}/${name}.zip`;
}

async function keep(
  objects: ObjectStore,
  projectId: string,
  name: string,
  signal: AbortSignal,
): Promise<UploadedBundle | undefined> {
  const look = async (file: string): Promise<UploadedBundle> => {
    const { metadata, files, issues } = await readArchive(file);
    if (issues.length > 0) throw new PlatformError("PLUGIN_METADATA_INVALID", { context: { issues } });
    const { size } = await stat(file);
    const hash = createHash("sha256");
    await pipeline(createReadStream(file), hash, { signal });
    const sha256 = hash.digest("hex");
    const key = `plugins/${projectId}/${name}/${sha256}-${randomText(8, ALPHANUMERIC)}.zip`;
    await objects.putFile(key, file, BUNDLE_CONTENT_TYPE, signal);
    return { metadata, files, stored: { key, sha256, size } };
  };
  try {
    return await objects.withFile(uploadKey(projectId, name), MAX_BUNDLE_BYTES, look, signal);
  } catch (error) {
    if (!(error instanceof ObjectTooLargeError)) throw error;
    const issues = [{ path: "bundle", message: "is larger than 100 MiB" }];
    throw new PlatformError("PLUGIN_METADATA_INVALID", { cause: error, context: { issues } });
  }
}

/** The given keys that registered plugins reference. */
export async function namedBundles(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("custom_plugins")
    .select("bundle")
    .where("project_id", "in", [...new Set(keys.map((key) => key.split("/")[1] ?? ""))])
    .where(sql<string>`bundle ->> 'key'`, "in", keys)
    .execute();
  return new Set(rows.flatMap(({ bundle }) => (bundle === null ? [] : [bundle.key])));
}
