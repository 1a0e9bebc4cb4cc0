import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Client, createClient } from "../../src/api-client/client.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { isFull } from "../../src/base/testing/full.ts";
import { findPostgres } from "../../src/platform/testing/postgres.ts";
import { Ledger } from "./ledger.ts";
import { platformProcess } from "./platform-child.ts";
import { seeded } from "./random.ts";
import { createSamples, type SampleObjects } from "./sample-objects.ts";

// Kills a real `sallyport platform` under load, at a moment that the seed chooses, as a power cut or the kernel would.
// After a new start everything that it had acknowledged must be there. SALLYPORT_KILL_ROUNDS and SALLYPORT_KILL_SEED
// change the run.

const rounds = Number(process.env.SALLYPORT_KILL_ROUNDS ?? 2);
const seed = process.env.SALLYPORT_KILL_SEED ?? "1";
const WORKERS = 20;
/** The load begins with opening connections; a kill before the first answer would prove nothing. */
const SHORTEST_LOAD_MS = 800;
const LONGEST_MORE_MS = 1_500;
const SEALING_KEY = "5a".repeat(32);

const postgres = findPostgres();
const onPglite = postgres === undefined || isFull ? ["PGlite in a folder"] : [];
const databases = [...onPglite, ...(postgres === undefined ? [] : ["PostgreSQL"])];

describe.each(databases)("a platform on %s, killed under load", (database) => {
  it("has every write that it acknowledged", { timeout: 120_000 + rounds * 120_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const signal = AbortSignal.timeout(110_000 + rounds * 120_000);
    const folder = await mkdtemp(join(tmpdir(), "sallyport-kill-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const env: Record<string, string> = {};
    if (database === "PostgreSQL" && postgres !== undefined) {
      const server = await postgres();
      stack.defer(() => server.stop());
      env.SALLYPORT_PLATFORM_DATABASE_URL = server.url;
      env.SALLYPORT_PLATFORM_SEALING_KEY = SEALING_KEY;
    }
    const platform = await platformProcess({ folder, env }, stack);
    await platform.program.start(signal);
    const { url } = platform;
    const open = (credential: string): Client => {
      const client = createClient({ baseUrl: url, credential, retries: 0 });
      stack.defer(() => client.close());
      return client;
    };
    const admin = open(await platform.firstKey());
    const made = await createSamples(admin, url, signal);
    const runtime = open(made.runtimeKey);
    const random = seeded(`kill ${seed} ${database}`);

    for (let round = 1; round <= rounds; round += 1) {
      const id = made.manager;
      const { cursor } = await runtime.managerRuntime.work({ params: { id } }, signal);
      const { version } = await admin.managers.get({ params: { id } }, signal);
      const ledger = new Ledger(url, made, { admin, runtime }, version);
      const stop = new AbortController();
      const load = ledger.load(WORKERS, `r${round}`, random, stop.signal);
      await sleep(systemClock, SHORTEST_LOAD_MS + random(LONGEST_MORE_MS), signal);
      while (ledger.entries.length < WORKERS) await sleep(systemClock, 20, signal);
      await platform.program.kill("SIGKILL");
      stop.abort();
      await load;
      await platform.program.start(signal);
      await judge(ledger, { admin, runtime, made, cursor }, signal);
    }
  });
});

interface Afterwards {
  readonly admin: Client;
  readonly runtime: Client;
  readonly made: SampleObjects;
  /** The feed's cursor from before the load. */
  readonly cursor: string;
}

async function judge(ledger: Ledger, { admin, runtime, made, cursor }: Afterwards, signal: AbortSignal): Promise<void> {
  const lost: string[] = [];
  for (const { what, check } of ledger.entries)
    await check(signal).catch((error: unknown) => lost.push(`${what}: ${String(error)}`));
  expect(lost, `of ${ledger.entries.length} acknowledged writes`).toEqual([]);

  const { version } = await admin.managers.get({ params: { id: made.manager } }, signal);
  expect(ledger.versions).toContain(version);

  // A cursor from before the kill still works, and the work that was raised since comes after it.
  const told = new Set<string>();
  let from = cursor;
  for (let more = true; more; ) {
    const page = await runtime.managerRuntime.work({ params: { id: made.manager }, query: { cursor: from } }, signal);
    for (const { topic, deploymentId } of page.topics) told.add(`${topic} ${deploymentId}`);
    more = page.topics.length > 0 && page.cursor !== from;
    from = page.cursor;
  }
  for (const { topic, deploymentId } of ledger.raised) expect(told).toContain(`${topic} ${deploymentId}`);

  // A repeat with the same key gets the first answer. Where no answer came, it is done now, once.
  for (const { name, idempotencyKey, answered } of ledger.keyed) {
    const { project } = made;
    const { id } = await admin.deploymentGroups.create({ body: { name, project }, idempotencyKey }, signal);
    if (answered !== undefined) expect(id).toBe(answered);
    const found = await admin.deploymentGroups.list({ query: { project, search: name, limit: 100 } }, signal);
    expect(found.items.filter((group) => group.name === name).map((group) => group.id)).toEqual([id]);
  }
}
