import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { findPostgres } from "./postgres.ts";

/**
 * vitest's global set-up: a folder for the dump that in-memory databases begin from, and one PostgreSQL for all files
 * of a run, where each makes databases of its own. Starting one takes `initdb` a second or more, and forty files would
 * each pay it.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-databases-"));
  project.provide("databaseFolder", folder);
  const stop = await startPostgres();
  return async () => {
    await stop?.();
    await rm(folder, { recursive: true, force: true });
  };
}

async function startPostgres(): Promise<(() => Promise<void>) | undefined> {
  // biome-ignore-start lint/style/noProcessEnv: how the workers, which inherit it, learn of the server.
  if (process.env.SALLYPORT_TEST_POSTGRES !== undefined) return undefined;
  const server = await findPostgres()?.();
  if (server === undefined) return undefined;
  process.env.SALLYPORT_TEST_POSTGRES = server.url;
  return async () => {
    delete process.env.SALLYPORT_TEST_POSTGRES;
    await server.stop();
  };
  // biome-ignore-end lint/style/noProcessEnv: see above.
}
