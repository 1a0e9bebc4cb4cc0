import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { sql } from "kysely";
import { Registry } from "prom-client";
import { ROUTES } from "../contract/table.ts";
import { HANDLERS } from "./areas/handlers.ts";
import { type Bootstrap, createBootstrap } from "./bootstrap.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { PlatformConfig } from "./config.ts";
import { type DatabaseLocation, type Db, type OpenDatabase, openDatabase } from "./database.ts";
import { buildHttp } from "./http.ts";
import { apiKeys } from "./kernel/credential.ts";
import { endpointsOf } from "./kernel/endpoint.ts";
import type { Engine } from "./kernel/execute.ts";
import { Lane } from "./kernel/lane.ts";
import { announce, listen } from "./kernel/listen.ts";
import { platformMetrics } from "./kernel/metrics.ts";
import { RateLimiter } from "./kernel/rate-limit.ts";
import { sweepEvery } from "./kernel/sweep.ts";
import { Waker } from "./kernel/waker.ts";
import { type Logger, silentLogger } from "./log.ts";

export interface StartOptions extends Partial<Omit<PlatformConfig, "database">> {
  readonly database: DatabaseLocation;
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly registry?: Registry;
}

export interface RunningPlatform {
  readonly url: string;
  readonly port: number;
  readonly db: Db;
  readonly bootstrap: Bootstrap;
  /** Runs what otherwise runs once a minute: expiries and clean-up. For tests with an injected clock. */
  sweep(): Promise<void>;
  /** Ends long-polls, lets requests finish, closes the database. */
  close(): Promise<void>;
}

/** Requests that run when the end begins may finish; a supervisor gives up on a process after 10 s or more. */
const CLOSE_GRACE_MS = 5_000;

/** Opens the database, migrates it, and serves the table. */
export async function startPlatform(options: StartOptions): Promise<RunningPlatform> {
  const { host = "127.0.0.1", port = 0, clock = systemClock, log = silentLogger } = options;
  const sealingKey = options.sealingKey ?? (await ownSealingKey(options.database));
  const database = await openDatabase(options.database);
  const draining = new AbortController();
  const waker = new Waker(clock);
  const address = { url: "" };
  const engine: Engine = {
    db: database.db,
    clock,
    config: {
      get baseUrl() {
        return options.baseUrl ?? address.url;
      },
      sealingKey,
    },
    waker,
    metrics: platformMetrics(options.registry ?? new Registry()),
    announce: database.kind === "postgres" ? announce : async () => undefined,
    retries: new Lane(),
    runningSlots: new Set(),
  };
  const app = buildHttp({
    engine,
    endpoints: endpointsOf(ROUTES, HANDLERS),
    authenticators: [apiKeys(database.db)],
    limiter: options.rateLimits === false ? undefined : new RateLimiter(clock),
    log,
    draining: draining.signal,
    ready: () => reachable(database.db),
  });
  const listening = "postgres" in options.database && listen(options.database.postgres, waker, log, draining.signal);
  const sweeper = sweepEvery(database.db, clock, log, draining.signal);
  try {
    await app.listen({ host, port });
  } catch (error) {
    draining.abort();
    await closeAll(app.close(), listening, sweeper.ended, database);
    throw error;
  }
  const bound = app.server.address() as AddressInfo;
  address.url = `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`;
  log.info({ url: address.url, database: database.kind }, "platform listening");
  return {
    url: address.url,
    port: bound.port,
    db: database.db,
    bootstrap: createBootstrap(database.db, clock),
    sweep: () => sweeper.now(),
    async close() {
      draining.abort();
      // Whoever has not finished by then is cut off; its transaction rolls back.
      const cancel = clock.after(CLOSE_GRACE_MS, () => app.server.closeAllConnections());
      await closeAll(app.close(), listening, sweeper.ended, database);
      cancel();
      log.info({}, "platform stopped");
    },
  };
}

async function closeAll(
  http: Promise<unknown>,
  listening: Promise<void> | false,
  sweeper: Promise<void>,
  database: OpenDatabase,
): Promise<void> {
  await http;
  await listening;
  await sweeper;
  await database.close();
}

async function reachable(db: Db): Promise<boolean> {
  try {
    await sql`select 1`.execute(db);
    return true;
  } catch {
    // The answer is the report: whoever asks logs it.
    return false;
  }
}

/** The embedded database brings its own key, beside it in its folder; what several replicas share must be configured. */
async function ownSealingKey(location: DatabaseLocation): Promise<Uint8Array> {
  const fresh = randomBytes(32);
  if (!("pglite" in location) || location.pglite === "memory") return fresh;
  const file = join(location.pglite, "sealing-key");
  await mkdir(location.pglite, { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, fresh.toString("hex"), { mode: 0o600, flag: "wx" });
    return fresh;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    return Buffer.from(await readFile(file, "utf8"), "hex");
  }
}
