import { randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { link, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  isObjectKey,
  ObjectExistsError,
  type ObjectPage,
  type ObjectStore,
  ObjectTooLargeError,
  requireObjectKey,
  type UploadTerms,
  type UrlTerms,
} from "../ports/object-store.ts";
import { signedPath } from "./signed-path.ts";

/** Cannot be the first segment of a key, so no object can have this path. */
const PARTIAL = ".partial";

/**
 * Stores objects as files of one folder. No other process writes there. A file gets its name only when it is completely
 * on the disk. Files left incomplete by a crash are removed at the next start.
 */
export class ObjectFolder implements ObjectStore {
  readonly #folder: string;
  readonly #secret: Uint8Array;
  readonly #baseUrl: () => string;

  /** @param secret made by `urlKey`. */
  constructor(folder: string, secret: Uint8Array, baseUrl: () => string) {
    this.#folder = folder;
    this.#secret = secret;
    this.#baseUrl = baseUrl;
  }

  /** Creates the folder. Must run before all other calls. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await rm(join(this.#folder, PARTIAL), { recursive: true, force: true });
    await mkdir(join(this.#folder, PARTIAL), { mode: 0o700 });
  }

  async uploadUrl(key: string, terms: UploadTerms): Promise<string> {
    return this.#url({ holder: "", ...terms, method: "PUT", key: requireObjectKey(key) });
  }

  async downloadUrl(key: string, terms: UrlTerms): Promise<string> {
    return this.#url({ ...terms, method: "GET", key: requireObjectKey(key), maxBytes: 0, holder: "" });
  }

  #url(permit: Parameters<typeof signedPath>[1]): string {
    return this.#baseUrl() + signedPath(this.#secret, permit);
  }

  async put(key: string, content: Uint8Array, _contentType: string, signal: AbortSignal): Promise<void> {
    await this.receive(key, [content], content.byteLength, signal);
  }

  /**
   * Stores the source's bytes, at most `maxBytes`; with `once` only when no object has the key.
   * @returns the number of bytes.
   * @throws ObjectTooLargeError, ObjectExistsError. After these, and after any error of the source, the earlier object
   * is unchanged.
   */
  async receive(
    key: string,
    source: Readable | Iterable<Uint8Array>,
    maxBytes: number,
    signal: AbortSignal,
    { once = false }: { readonly once?: boolean } = {},
  ): Promise<number> {
    const [path, partial] = [this.#path(key), this.#partial()];
    const file = createWriteStream(partial, { flags: "wx", mode: 0o600, flush: true });
    try {
      await pipeline(source, atMost(maxBytes), file, { signal });
      await moveInto(partial, path, once ? link : rename);
      return file.bytesWritten;
    } catch (error) {
      const there = once && hasCode(error, "EEXIST") ? await sizeOf(path) : undefined;
      throw there === undefined ? error : new ObjectExistsError(key, there);
    } finally {
      await rm(partial, { force: true });
    }
  }

  async putFile(key: string, file: string, _contentType: string, signal: AbortSignal): Promise<void> {
    await this.receive(key, createReadStream(file), Number.POSITIVE_INFINITY, signal);
  }

  /** Also removes folders that become empty, or listing would take longer and longer. */
  async remove(key: string, _signal: AbortSignal): Promise<void> {
    await rm(this.#path(key), { force: true });
    for (const segments = key.split("/").slice(0, -1); segments.length > 0; segments.pop()) {
      if (!(await removeEmpty(join(this.#folder, ...segments)))) return;
    }
  }

  async list(after: string | undefined, limit: number, _signal: AbortSignal): Promise<ObjectPage> {
    const objects: { key: string; modifiedAt: Date }[] = [];
    for await (const key of filesAfter(this.#folder, after?.split("/") ?? [])) {
      if (!isObjectKey(key)) continue;
      const found = await ifThere(stat(this.#path(key)));
      if (found === undefined) continue;
      objects.push({ key, modifiedAt: found.mtime });
      if (objects.length === limit) return { objects, next: key };
    }
    return { objects, next: undefined };
  }

  async withFile<T>(
    key: string,
    maxBytes: number,
    work: (file: string) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const path = this.#path(key);
    const size = await sizeOf(path);
    if (size === undefined) return undefined;
    if (size > maxBytes) throw new ObjectTooLargeError(`${key} is larger than ${maxBytes} bytes`);
    signal.throwIfAborted();
    const lent = this.#partial();
    // A hard link: the next upload replaces the name, and this copy keeps its bytes.
    if ((await ifThere(link(path, lent).then(() => true))) === undefined) return undefined;
    try {
      return await work(lent);
    } finally {
      await rm(lent, { force: true });
    }
  }

  /** Undefined when there is no such object. */
  async read(key: string): Promise<{ readonly size: number; readonly content: Readable } | undefined> {
    const path = this.#path(key);
    const size = await sizeOf(path);
    return size === undefined ? undefined : { size, content: createReadStream(path) };
  }

  #partial(): string {
    return join(this.#folder, PARTIAL, randomBytes(16).toString("hex"));
  }

  #path(key: string): string {
    return join(this.#folder, requireObjectKey(key));
  }
}

function atMost(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) done(new ObjectTooLargeError(`more than ${maxBytes} bytes came`));
      else done(null, chunk);
    },
  });
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await ifThere(stat(path));
  return found?.isFile() ? found.size : undefined;
}

/** Undefined when no file has the path, or one of its parents is a file. */
async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

const MOVE_TRIES = 3;

/**
 * Moves a file into place. Repeats when another call has removed the empty folder in between.
 * @param name `rename` replaces an existing file, `link` fails.
 */
async function moveInto(partial: string, path: string, name: typeof rename): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await name(partial, path);
      return await syncFolder(dirname(path));
    } catch (error) {
      if (!hasCode(error, "ENOENT") || tries === MOVE_TRIES) throw error;
    }
  }
}

/** False when the folder is not empty. */
async function removeEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return true;
    if (hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw error;
  }
}

/**
 * Paths of the files after the given segments, each folder's names in order. Holds the names of one folder at a time.
 */
async function* filesAfter(folder: string, [from, ...rest]: readonly string[]): AsyncGenerator<string> {
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if (from !== undefined && name < from) continue;
    if (entry.isDirectory()) {
      for await (const path of filesAfter(join(folder, name), name === from ? rest : [])) yield `${name}/${path}`;
    } else if (entry.isFile() && name !== from) yield name;
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** A new file name is safe on the disk only after its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * The keys of all objects of a folder, in order; none when the folder does not exist. Not by a recursive `readdir`, which
 * fails as a whole when a folder in it is removed meanwhile.
 */
export async function keysIn(folder: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of filesAfter(folder, [])) if (isObjectKey(key)) keys.push(key);
  return keys.sort();
}
