import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { findPostgres, type TestPostgres } from "./postgres.ts";

/**
 * vitest's global set-up: a folder for the dumps that PGlites begin from, and one PostgreSQL for all files of a run, where
 * each makes databases of its own. Nothing is made before a test asks for it, because most parts of a run need no
 * database.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-databases-"));
  project.provide("databaseFolder", folder);
  const stop = await offerPostgres(join(folder, "postgres.sock"));
  return async () => {
    await stop?.();
    await rm(folder, { recursive: true, force: true });
  };
}

/** Workers learn the server's address over the socket; the first to ask has it started. */
async function offerPostgres(path: string): Promise<(() => Promise<void>) | undefined> {
  // biome-ignore-start lint/style/noProcessEnv: how the workers, which inherit it, learn of the socket.
  const { SALLYPORT_TEST_POSTGRES: named, SALLYPORT_TEST_POSTGRES_SOCKET: offered } = process.env;
  const start = findPostgres();
  if (named !== undefined || offered !== undefined || start === undefined) return undefined;
  let server: Promise<TestPostgres> | undefined;
  const socket = createServer((asking) => {
    asking.on("error", () => undefined);
    server ??= start();
    server.then(
      ({ url }) => asking.end(url),
      (error) => asking.end(String(error)),
    );
  }).listen(path);
  await once(socket, "listening");
  process.env.SALLYPORT_TEST_POSTGRES_SOCKET = path;
  return async () => {
    delete process.env.SALLYPORT_TEST_POSTGRES_SOCKET;
    socket.close();
    await (await server)?.stop();
  };
  // biome-ignore-end lint/style/noProcessEnv: see above.
}
