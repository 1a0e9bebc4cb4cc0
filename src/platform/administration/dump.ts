import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { PGlite } from "@electric-sql/pglite";
import { sealingKeyFile } from "../config.ts";
import { lockFolder } from "../database/folder-lock.ts";
import { keysIn } from "../objects/object-folder.ts";
import { isObjectKey } from "../ports/object-store.ts";
import { TAR_END, tarEntries, tarHeader, tarPadding } from "../tar.ts";
import { RefusedError } from "./refused-error.ts";

/** What the file holds, in this order: the database's own dump, the key to its sealed values, the objects. */
const DATABASE = "database.tgz";
const SEALING_KEY = "sealing-key";
const OBJECTS = "objects/";
/** The form before objects: the database's dump alone, with the key inside under this name. */
const TRAVELLING_KEY = "sallyport-sealing-key";

/**
 * Everything in a data folder as one file (a tar) that only its owner reads: it holds all data and the key to its sealed
 * values. Objects that lie elsewhere are not in it.
 *
 * @throws RefusedError when the folder holds no database or the file is there already; FolderInUseError.
 */
export async function exportFolder(folder: string, file: string): Promise<void> {
  if (!(await namesIn(folder)).includes("database")) throw new RefusedError(`${folder} holds no database`);
  const release = await lockFolder(folder);
  try {
    const dump = await dumpOf(join(folder, "database"));
    await writeFresh(file, contentOf(folder, dump));
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

async function* contentOf(folder: string, dump: Buffer): AsyncGenerator<Uint8Array> {
  yield* [tarHeader({ name: DATABASE, size: dump.length }, 0o600), dump, tarPadding(dump.length)];
  const files = (await keysIn(join(folder, "objects"))).map((key) => `${OBJECTS}${key}`);
  // Absent when the key is configured: then it belongs to the configuration, there and here.
  if ((await namesIn(folder)).includes(basename(sealingKeyFile(folder)))) files.unshift(SEALING_KEY);
  for (const name of files) {
    const { size } = await stat(join(folder, name));
    yield tarHeader({ name, size }, 0o600);
    yield* createReadStream(join(folder, name));
    yield tarPadding(size);
  }
  yield TAR_END;
}

/**
 * Fills an empty folder from such a file.
 * @throws RefusedError when the folder is not empty or the file is none of ours; FolderInUseError.
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
  let found = false;
  for await (const { name, size, start } of tarEntries(file)) {
    const range = { start, end: start + size - 1 };
    if (name === DATABASE) {
      found = true;
      await loadDump(folder, Buffer.concat(await createReadStream(file, range).toArray()));
    } else if (name === SEALING_KEY || (name.startsWith(OBJECTS) && isObjectKey(name.slice(OBJECTS.length)))) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const target = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
      await pipeline(size === 0 ? [] : createReadStream(file, range), target);
    } else {
      throw new Error("the archive holds a file that is none of ours");
    }
  }
  if (!found) throw new Error("the archive holds no database");
}

async function loadDump(folder: string, dump: Buffer): Promise<void> {
  const database = join(folder, "database");
  const pglite = await PGlite.create({ dataDir: database, loadDataDir: new Blob([new Uint8Array(dump)]) });
  await pglite.close();
  const hasKey = (await namesIn(database)).includes(TRAVELLING_KEY);
  if (hasKey) await rename(join(database, TRAVELLING_KEY), sealingKeyFile(folder));
}

/** @throws RefusedError for a file of neither form. */
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

async function writeFresh(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await writeFile(file, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw new RefusedError(`${file} cannot be written, or is there already`, { cause: error });
  }
  try {
    await pipeline(content, createWriteStream(file, { flags: "r+", flush: true }));
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}
