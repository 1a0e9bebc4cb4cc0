import { createSecretKey, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { Registry } from "prom-client";
import { type Clock, systemClock } from "../base/clock.ts";
import { type Logger, silentLogger } from "../base/log.ts";
import { ROUTES } from "../contract/table.ts";
import { type Bootstrap, createBootstrap } from "./administration/bootstrap.ts";
import { registerPortalPage } from "./areas/deployment-portal/portal-page/portal-routes.ts";
import { HANDLERS } from "./areas/handlers.ts";
import { HOOKS } from "./areas/hooks.ts";
import { startCourier } from "./areas/invitations/courier.ts";
import { registerInvitePage } from "./areas/invitations/page.ts";
import { logIdle } from "./areas/managers/idle.ts";
import { registerSetup } from "./areas/managers/setup/setup-routes.ts";
import { OBJECT_OWNERS } from "./areas/object-owners.ts";
import { OBJECT_UPLOADS } from "./areas/object-uploads.ts";
import { SWEEP_NAMES, SWEEPS } from "./areas/sweeps.ts";
import { tailFeed } from "./areas/work-feed/tail.ts";
import { openBuilders } from "./builders/start.ts";
import type { Db } from "./database/db.ts";
import { type DatabaseLocation, type OpenDatabase, openDatabase } from "./database/open.ts";
import { GitHubApp } from "./git-hosts/github-app.ts";
import { requireFreePort } from "./http/free-port.ts";
import { buildHttp, type HttpDeps } from "./http/http.ts";
import { NON_API_ROUTES } from "./http/non-api-routes.ts";
import { apiKeys } from "./identity/api-keys/authenticate.ts";
import { type IdentityConfig, NO_SIGN_IN } from "./identity/config.ts";
import { registerIdentity } from "./identity/identity.ts";
import { accessTokens } from "./identity/users/access-token.ts";
import { sessions } from "./identity/users/session.ts";
import { BUDGET_SIZES, type BudgetSizes, Budgets } from "./kernel/budgets/budgets.ts";
import { RateLimiter } from "./kernel/budgets/rate-limit.ts";
import type { CallConfig } from "./kernel/call/call-config.ts";
import { endpointsOf } from "./kernel/call/endpoint.ts";
import type { Engine } from "./kernel/call/execute.ts";
import { Lane } from "./kernel/call/lane.ts";
import { TRUST_NONE } from "./kernel/caller-address.ts";
import { announce, listen } from "./kernel/events/listen.ts";
import { Waker } from "./kernel/events/waker.ts";
import { platformMetrics } from "./kernel/metrics/metrics.ts";
import { closeServer, serveMetrics } from "./kernel/metrics/metrics-server.ts";
import { sealingKeyFile } from "./kernel/sealed.ts";
import { sweepEvery } from "./kernel/sweeps/sweep.ts";
import { tableUpkeep } from "./kernel/sweeps/table-upkeep.ts";
import { smtpMailer } from "./mail/smtp-mailer.ts";
import { objectSweep } from "./objects/object-sweep.ts";
import { openObjects } from "./objects/serving.ts";
import type { PlatformConfig } from "./platform-config.ts";
import type { GitHost } from "./ports/git-host.ts";
import type { Mailer } from "./ports/mailer.ts";
import { openRelay } from "./relay/serving.ts";

export interface StartOptions extends Partial<Omit<PlatformConfig, "database" | "budgets">> {
  readonly database: DatabaseLocation;
  /** Replaces the default sizes of the given budgets. */
  readonly budgets?: Partial<BudgetSizes>;
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly registry?: Registry;
  /** Replaces the configured mailer. */
  readonly mailer?: Mailer;
  /** Replaces the configured git host. */
  readonly gitHost?: GitHost;
  /** Runs before the platform listens: what it makes is there when the first request is answered. */
  readonly prepare?: (bootstrap: Bootstrap) => Promise<void>;
}

export interface RunningPlatform {
  readonly url: string;
  readonly port: number;
  readonly db: Db;
  readonly bootstrap: Bootstrap;
  /** Answers a request without a socket. For tests that are not about HTTP itself. */
  readonly inject: FastifyInstance["inject"];
  /** Runs the sweeps, which otherwise run once a minute: expiries and clean-up. For tests with an injected clock. */
  sweep(): Promise<void>;
  /** Ends long-polls, lets requests finish, closes the database. */
  close(): Promise<void>;
}

/** Time for running requests to finish at the end. Supervisors kill a process after 10 s or more. */
const CLOSE_GRACE_MS = 5_000;

const LOCALHOST = "127.0.0.1";

/** Opens and migrates the database, and serves the API. When a step fails, the earlier steps are undone. */
export async function startPlatform(options: StartOptions): Promise<RunningPlatform> {
  const { host = LOCALHOST, port = 0, metricsPort = 0 } = options;
  // Before the database is opened and perhaps migrated: a process that cannot listen must change nothing.
  for (const wanted of [port, metricsPort]) await requireFreePort(host, wanted);
  const parts = new AsyncDisposableStack();
  const draining = new AbortController();
  try {
    return await start(options, parts, draining);
  } catch (error) {
    // When there is no server yet, nothing else would stop the sweeps.
    draining.abort();
    await parts.disposeAsync();
    throw error;
  }
}

/** Parts end in reverse order: long-polls and requests, then the listener and the sweeps, then the database. */
async function start(
  options: StartOptions,
  parts: AsyncDisposableStack,
  draining: AbortController,
): Promise<RunningPlatform> {
  const { host = LOCALHOST, port = 0, clock = systemClock, log = silentLogger, registry = new Registry() } = options;
  const sealingKey = options.sealingKey ?? (await ownSealingKey(options.database));
  const database = await opened(options.database, log);
  parts.defer(() => database.close());
  await logIdle(database.db, log);
  const { db, connections } = database;
  const waker = new Waker(clock);
  parts.defer(hearReplicas(options.database, { db, waker, log }, draining.signal));
  const endpoints = endpointsOf(ROUTES, HANDLERS);
  const counted = [...endpoints, ...NON_API_ROUTES];
  const metrics = platformMetrics(registry, { endpoints: counted, sweeps: SWEEP_NAMES, connections });
  const address = { url: "" };
  const baseUrl = (): string => options.baseUrl ?? address.url;
  const objects = await openObjects({ ...options, sealingKey, clock, log, baseUrl });
  const builders = await openBuilders({ ...objects, baseUrl }, options.images, draining.signal);
  const [{ store }, { baseImage }] = [objects, builders];
  const forgotten = objectSweep({ ...objects, owners: OBJECT_OWNERS, signal: draining.signal });
  const sweeps = { ...SWEEPS, objects: forgotten, tables: tableUpkeep(database.kind) };
  const sweeper = sweepEvery(db, { sweeps, hooks: HOOKS, clock, log, metrics }, draining.signal);
  parts.defer(() => sweeper.ended);
  await scrapable(registry, host, options.metricsPort, parts);
  const mailer = options.mailer ?? (options.mail && smtpMailer(options.mail));
  const engine: Engine = {
    db,
    clock,
    config: callConfig(options, { baseUrl, sealingKey, sendsMail: mailer !== undefined, objects: store, baseImage }),
    budgets: new Budgets({ ...BUDGET_SIZES, ...options.budgets }, (name) => metrics.budgetRefused(name)),
    cursorKey: createSecretKey(sealingKey),
    waker,
    hooks: HOOKS,
    metrics,
    announce: database.kind === "postgres" ? announce : async () => undefined,
    retries: new Lane(),
    runningSlots: new Set(),
  };
  const limiter = options.rateLimits === false ? undefined : new RateLimiter(clock);
  const { identity = NO_SIGN_IN, trustedProxies = TRUST_NONE } = options;
  const app = serve(engine, { endpoints, limiter, trustedProxies, log, draining: draining.signal }, identity);
  const open = { engine, limiter, draining: draining.signal };
  objects.register(app, { ...open, uploads: OBJECT_UPLOADS });
  builders.register(app, open);
  const relay = await openRelay({ engine, limiter, trustedProxies, log, peerUrl: options.peerUrl }, database.kind);
  app.server.on("upgrade", relay.onUpgrade);
  parts.defer(() => closeHttp(app, clock, draining));
  parts.defer(() => relay.close());
  const bootstrap = createBootstrap(db, clock);
  await options.prepare?.(bootstrap);
  await app.listen({ host, port });
  const bound = app.server.address() as AddressInfo;
  address.url = `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`;
  if (mailer !== undefined) parts.defer(startCourier({ db, clock, log, waker, mailer, config: engine.config }));
  parts.defer(builders.start({ ...engine, log }));
  log.info({ url: address.url, database: database.kind }, "platform listening");
  return {
    ...{ url: address.url, port: bound.port, db, bootstrap, inject: app.inject.bind(app) },
    sweep: () => sweeper.now(),
    async close() {
      await parts.disposeAsync();
      log.info({}, "platform stopped");
    },
  };
}

/**
 * Wakes this process's long-polls when other replicas commit.
 * @returns a promise that resolves when it has ended, after `signal` aborts.
 */
function hearReplicas(
  location: DatabaseLocation,
  { db, waker, log }: { readonly db: Db; readonly waker: Waker; readonly log: Logger },
  signal: AbortSignal,
): () => Promise<void> {
  if (!("postgres" in location)) return async () => undefined;
  const listening = listen(location.postgres, waker, log, signal);
  const tailing = tailFeed({ db, waker, log }, signal);
  return () => Promise.all([listening, tailing]).then(() => undefined);
}

async function scrapable(
  registry: Registry,
  host: string,
  port: number | undefined,
  parts: AsyncDisposableStack,
): Promise<void> {
  if (port === undefined) return;
  const scraped = await serveMetrics(registry, host, port);
  parts.defer(() => closeServer(scraped));
}

/** Logs slow steps: creating an embedded database takes seconds, migrating a large one takes minutes. */
async function opened(location: DatabaseLocation, log: Logger): Promise<OpenDatabase> {
  log.info({ database: "pglite" in location ? "pglite" : "postgres" }, "opening the database");
  return openDatabase(location, {
    onLost: (err) => log.warn({ err }, "database connection lost"),
    onMigrations: (names) => log.info({ migrations: names }, "migrating the database"),
  });
}

function serve(
  engine: Engine,
  parts: Pick<HttpDeps, "endpoints" | "limiter" | "trustedProxies" | "log" | "draining">,
  identity: IdentityConfig,
): FastifyInstance {
  const { db } = engine;
  const { limiter, log, draining } = parts;
  const origins = (): string[] => [engine.config.baseUrl, engine.config.portalUrl].map(originOf);
  const app = buildHttp({
    ...parts,
    engine,
    authenticators: [accessTokens(db), apiKeys(db), sessions(db, origins)],
    ready: () => reachable(db),
  });
  registerIdentity(app, { engine, limiter, draining }, identity, log);
  registerInvitePage(app, { engine, limiter, draining });
  registerPortalPage(app, { engine, limiter, draining });
  registerSetup(app, { engine, limiter, draining });
  return app;
}

function callConfig(
  {
    portalUrl,
    gitHost,
    github,
    clock = systemClock,
    generatedDomain,
    supportedRegions,
    setupTemplateUrl,
  }: StartOptions,
  { baseUrl, ...parts }: Pick<CallConfig, "sealingKey" | "sendsMail" | "objects" | "baseImage"> & { baseUrl(): string },
): CallConfig {
  return {
    get baseUrl() {
      return baseUrl();
    },
    get portalUrl() {
      return portalUrl ?? this.baseUrl;
    },
    ...parts,
    gitHost: gitHost ?? (github && new GitHubApp(github, clock)),
    generatedDomain,
    supportedRegions,
    setupTemplateUrl,
  };
}

/**
 * Ends long-polls at once. Requests still running after the grace period are cut off, and their transactions roll back.
 */
async function closeHttp(app: FastifyInstance, clock: Clock, draining: AbortController): Promise<void> {
  draining.abort();
  const cancel = clock.after(CLOSE_GRACE_MS, () => app.server.closeAllConnections());
  await app.close();
  cancel();
}

function originOf(url: string): string {
  return new URL(url).origin;
}

async function reachable(db: Db): Promise<boolean> {
  try {
    await sql`select 1`.execute(db);
    return true;
  } catch {
    // The caller logs the answer.
    return false;
  }
}

/**
 * The sealing key of a platform without a configured one: in the data folder of the embedded database. Several replicas
 * share their database, so their key must be configured.
 */
async function ownSealingKey(location: DatabaseLocation): Promise<Uint8Array> {
  const fresh = randomBytes(32);
  if (!("pglite" in location) || location.pglite === "memory") return fresh;
  const file = sealingKeyFile(location.pglite);
  await mkdir(location.pglite, { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, fresh.toString("hex"), { mode: 0o600, flag: "wx" });
    return fresh;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    return Buffer.from(await readFile(file, "utf8"), "hex");
  }
}
