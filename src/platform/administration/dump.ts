import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { PGlite } from "@electric-sql/pglite";
import { type Extract, extract, type Pack, pack } from "tar-stream";
import { lockFolder } from "../database/folder-lock.ts";
import { sealingKeyFile } from "../kernel/sealed.ts";
import { addFile } from "../kernel/tar.ts";
import { keysIn } from "../objects/object-folder.ts";
import { isObjectKey } from "../ports/object-store.ts";
import { RefusedError } from "./refused-error.ts";

/** Contents of the file, in this order: the database's dump, the key to its sealed values, the objects. */
const DATABASE = "database.tgz";
const SEALING_KEY = "sealing-key";
const OBJECTS = "objects/";
/** The older format: only the database's dump, with the sealing key inside of it under this name. */
const TRAVELLING_KEY = "sallyport-sealing-key";

/**
 * Exports a data folder as one file (a tar). Only its owner may read it, because it holds all data and the key to the
 * sealed values. Objects stored elsewhere are not included.
 *
 * @throws RefusedError when the folder holds no database or the file already exists; FolderInUseError.
 */
export async function exportFolder(folder: string, file: string): Promise<void> {
  if (!(await namesIn(folder)).includes("database")) throw new RefusedError(`${folder} holds no database`);
  const release = await lockFolder(folder);
  try {
    const dump = await dumpOf(join(folder, "database"));
    await writeFresh(file, (archive) => fill(archive, folder, dump));
  } finally {
    release();
  }
}

async function dumpOf(database: string): Promise<Buffer> {
  const pglite = await PGlite.create({ dataDir: database });
  try {
    const dump = await pglite.dumpDataDir("gzip");
    return Buffer.from(await dump.arrayBuffer());
  } finally {
    await pglite.close();
  }
}

async function fill(archive: Pack, folder: string, dump: Buffer): Promise<void> {
  await addFile(archive, { name: DATABASE, size: dump.length, mode: 0o600 }, [dump]);
  const files = (await keysIn(join(folder, "objects"))).map((key) => `${OBJECTS}${key}`);
  // Absent when the key is configured: then both platforms get it from their configuration.
  if ((await namesIn(folder)).includes(basename(sealingKeyFile(folder)))) files.unshift(SEALING_KEY);
  for (const name of files) {
    const path = join(folder, name);
    await addFile(archive, { name, size: (await stat(path)).size, mode: 0o600 }, createReadStream(path));
  }
  archive.finalize();
}

/**
 * Imports such a file into an empty folder.
 * @throws RefusedError when the folder is not empty or the file is no export; FolderInUseError.
 */
export async function importFolder(folder: string, file: string): Promise<void> {
  const form = await formOf(file);
  const present = (await namesIn(folder)).filter((name) => name !== "lock");
  if (present.length > 0) throw new RefusedError(`${folder} is not empty: import into a folder of its own`);
  const release = await lockFolder(folder);
  try {
    await (form === "tar" ? unpack(folder, file) : loadDump(folder, await readFile(file)));
  } catch (error) {
    for (const name of ["database", "objects", SEALING_KEY])
      await rm(join(folder, name), { recursive: true, force: true });
    throw new RefusedError(`${file} is damaged, or no export of a platform`, { cause: error });
  } finally {
    release();
  }
}

async function unpack(folder: string, file: string): Promise<void> {
  if (!(await hasEnd(file))) throw new Error("the archive ends too early");
  const archive = extract();
  // Wait for both, also when one fails: otherwise the other would still write into the folder after the caller has
  // cleared it.
  const [unpacked, read] = await Promise.allSettled([
    unpackEntries(folder, archive),
    pipeline(createReadStream(file), archive),
  ]);
  if (unpacked.status === "rejected") throw unpacked.reason;
  if (read.status === "rejected") throw read.reason;
  if (!unpacked.value) throw new Error("the archive holds no database");
}

/**
 * True when the archive has its end of zero bytes. Without this check an archive cut off between two files would look
 * complete.
 */
async function hasEnd(file: string): Promise<boolean> {
  const { size } = await stat(file);
  const end = await buffer(createReadStream(file, { start: Math.max(0, size - 1024) }));
  return end.length === 1024 && end.every((byte) => byte === 0);
}

/** @returns whether the archive contained a database */
async function unpackEntries(folder: string, archive: Extract): Promise<boolean> {
  let found = false;
  for await (const entry of archive) {
    const { name, type } = entry.header;
    if (type !== "file") throw new Error("the archive holds more than files");
    if (name === DATABASE) {
      found = true;
      await loadDump(folder, await buffer(entry));
    } else if (name === SEALING_KEY || (name.startsWith(OBJECTS) && isObjectKey(name.slice(OBJECTS.length)))) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // By iteration: Node's pipeline never ends for an entry that was destroyed before it began, as at a cut-off
      // archive.
      await writeFile(path, entry as AsyncIterable<Uint8Array>, { flag: "wx", mode: 0o600, flush: true });
    } else {
      throw new Error("the archive holds a file that is none of ours");
    }
  }
  return found;
}

async function loadDump(folder: string, dump: Buffer): Promise<void> {
  const database = join(folder, "database");
  const pglite = await PGlite.create({ dataDir: database, loadDataDir: new Blob([new Uint8Array(dump)]) });
  await pglite.close();
  const hasKey = (await namesIn(database)).includes(TRAVELLING_KEY);
  if (hasKey) await rename(join(database, TRAVELLING_KEY), sealingKeyFile(folder));
}

/** @throws RefusedError when the file has neither format. */
async function formOf(file: string): Promise<"tar" | "dump"> {
  let head: Buffer;
  try {
    head = Buffer.concat(await createReadStream(file, { end: 511 }).toArray());
  } catch (error) {
    throw new RefusedError(`${file} cannot be read`, { cause: error });
  }
  if (head.toString("latin1", 257, 262) === "ustar") return "tar";
  if (head[0] === 0x1f && head[1] === 0x8b) return "dump";
  throw new RefusedError(`${file} is no export of a platform`);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

async function writeFresh(file: string, fill: (archive: Pack) => Promise<void>): Promise<void> {
  try {
    await writeFile(file, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw new RefusedError(`${file} cannot be written, or is there already`, { cause: error });
  }
  const archive = pack();
  const filled = fill(archive).catch((error: Error) => {
    archive.destroy(error);
    throw error;
  });
  try {
    await Promise.all([filled, pipeline(archive, createWriteStream(file, { flags: "r+", flush: true }))]);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}
