import { copyFile, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { sealingKeyFile } from "./config.ts";
import { lockFolder } from "./folder-lock.ts";
import { RefusedError } from "./refused-error.ts";

/** Under this name the sealing key travels inside the database's own folder, which is what the dump is made of. */
const TRAVELLING_KEY = "sallyport-sealing-key";

/**
 * Everything in a data folder as one file (a gzipped tar) that only its owner reads: it holds all data and the key to its
 * sealed values.
 *
 * @throws RefusedError when the folder holds no database or the file is there already; FolderInUseError.
 */
export async function exportFolder(folder: string, file: string): Promise<void> {
  const database = join(folder, "database");
  if (!(await namesIn(folder)).includes("database")) throw new RefusedError(`${folder} holds no database`);
  const release = await lockFolder(folder);
  const travelling = join(database, TRAVELLING_KEY);
  try {
    // Absent when the key is configured: then it belongs to the configuration, there and here.
    const hasKey = (await namesIn(folder)).includes(basename(sealingKeyFile(folder)));
    if (hasKey) await copyFile(sealingKeyFile(folder), travelling);
    const pglite = await PGlite.create({ dataDir: database });
    try {
      const dump = await pglite.dumpDataDir("gzip");
      await writeFresh(file, Buffer.from(await dump.arrayBuffer()));
    } finally {
      await pglite.close();
    }
  } finally {
    await rm(travelling, { force: true });
    release();
  }
}

/**
 * Fills an empty folder from such a file.
 * @throws RefusedError when the folder is not empty or the file is none of ours; FolderInUseError.
 */
export async function importFolder(folder: string, file: string): Promise<void> {
  const dump = await readFile(file).catch((error: unknown) => {
    throw new RefusedError(`${file} cannot be read`, { cause: error });
  });
  if (dump[0] !== 0x1f || dump[1] !== 0x8b) throw new RefusedError(`${file} is no export of a platform`);
  const present = (await namesIn(folder)).filter((name) => name !== "lock");
  if (present.length > 0) throw new RefusedError(`${folder} is not empty: import into a folder of its own`);
  const release = await lockFolder(folder);
  const database = join(folder, "database");
  try {
    const pglite = await PGlite.create({ dataDir: database, loadDataDir: new Blob([dump]) });
    await pglite.close();
    const hasKey = (await namesIn(database)).includes(TRAVELLING_KEY);
    if (hasKey) await rename(join(database, TRAVELLING_KEY), sealingKeyFile(folder));
  } catch (error) {
    await rm(database, { recursive: true, force: true });
    throw new RefusedError(`${file} is damaged, or no export of a platform`, { cause: error });
  } finally {
    release();
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

async function writeFresh(file: string, content: Buffer): Promise<void> {
  try {
    await writeFile(file, content, { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw new RefusedError(`${file} cannot be written, or is there already`, { cause: error });
  }
}
