import { existsSync, openAsBlob } from "node:fs";
import { cp, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { inject } from "vitest";
import { type DatabaseLocation, openDatabase } from "../database/open.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Of the run; see shared-databases.ts. */
    readonly databaseFolder?: string;
  }
}

// PGlite's initdb and our migrations take seconds of a core, and a hundred callers would each pay them: the run's first
// caller does, and leaves what it made to the others.

/** Migrated, and nothing in it. */
export async function inMemory(): Promise<DatabaseLocation> {
  const run = inject("databaseFolder");
  if (run === undefined) return { pglite: "memory" };
  const { dump } = await madeOnce(run);
  return { pglite: "memory", dump: await openAsBlob(dump) };
}

/** The same on disk. @param folder the platform's; it has none yet */
export async function inFolder(folder: string): Promise<DatabaseLocation> {
  const run = inject("databaseFolder");
  if (run !== undefined) await cp((await madeOnce(run)).database, join(folder, "database"), { recursive: true });
  return { pglite: folder };
}

/** Two workers may make it at once; who is second throws its own away. */
async function madeOnce(run: string): Promise<{ readonly database: string; readonly dump: string }> {
  const made = join(run, "made");
  const paths = (folder: string) => ({ database: join(folder, "database"), dump: join(folder, "dump.tar") });
  if (existsSync(made)) return paths(made);
  const folder = await mkdtemp(join(run, "making-"));
  const { database, dump } = paths(folder);
  await (await openDatabase({ pglite: folder })).close();
  const pglite = await PGlite.create({ dataDir: database });
  await writeFile(dump, (await pglite.dumpDataDir("none")).stream());
  await pglite.close();
  try {
    await rename(folder, made);
  } catch (error) {
    if (!existsSync(made)) throw error;
    await rm(folder, { recursive: true });
  }
  return paths(made);
}
