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
  return { pglite: "memory", ...(run !== undefined && { dump: await openAsBlob((await migrated(run)).dump) }) };
}

/** The same on disk. @param folder the platform's; it has none yet */
export async function inFolder(folder: string): Promise<DatabaseLocation> {
  const run = inject("databaseFolder");
  if (run !== undefined) await cp((await migrated(run)).database, join(folder, "database"), { recursive: true });
  return { pglite: folder };
}

/** Options of a PGlite without our tables. */
export async function withoutTables(): Promise<{ readonly loadDataDir?: Blob }> {
  const run = inject("databaseFolder");
  return run === undefined ? {} : { loadDataDir: await openAsBlob(await initial(run)) };
}

async function initial(run: string): Promise<string> {
  const made = await madeOnce(run, "initial", async (folder) => {
    await using pglite = await PGlite.create();
    await writeFile(join(folder, "dump.tar"), (await pglite.dumpDataDir("none")).stream());
  });
  return join(made, "dump.tar");
}

async function migrated(run: string): Promise<{ readonly database: string; readonly dump: string }> {
  const made = await madeOnce(run, "migrated", async (folder) => {
    const dump = await openAsBlob(await initial(run));
    await (await openDatabase({ pglite: folder, dump })).close();
    await using pglite = await PGlite.create({ dataDir: join(folder, "database") });
    await writeFile(join(folder, "dump.tar"), (await pglite.dumpDataDir("none")).stream());
  });
  return { database: join(made, "database"), dump: join(made, "dump.tar") };
}

/** Two workers may make it at once; who is second throws its own away. */
async function madeOnce(run: string, name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const made = join(run, name);
  if (existsSync(made)) return made;
  const folder = await mkdtemp(join(run, "making-"));
  await make(folder);
  try {
    await rename(folder, made);
  } catch (error) {
    if (!existsSync(made)) throw error;
    await rm(folder, { recursive: true });
  }
  return made;
}
