import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe } from "vitest";
import { isFull } from "../../base/testing/full.ts";
import { type Role, scopeOf } from "../../contract/wire/roles.ts";
import { json } from "../database/json.ts";
import { type DatabaseLocation, openDatabase } from "../database/open.ts";
import type { WorkspaceRole } from "../database/tables/identity.ts";
import { ACCESS_TOKEN_KIND, ACCESS_TOKEN_PREFIX } from "../identity/users/access-token.ts";
import { SESSION_COOKIE } from "../identity/users/session.ts";
import { createSession, findOrCreateUser, putMember } from "../identity/users/store.ts";
import { ALPHANUMERIC, randomText } from "../kernel/ids.ts";
import { hashOf } from "../kernel/secret-hash.ts";
import type { Scope } from "../kernel/tenancy/principal.ts";
import { type RunningPlatform, type StartOptions, startPlatform } from "../server.ts";
import { misread } from "./described/misread.ts";
import { inMemory } from "./empty-database.ts";
import { type Content, findPostgres } from "./postgres.ts";
import { TestClock } from "./test-clock.ts";

/** An answer, as it would come over a socket. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined when the body is empty. Tests look into it freely. */
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields it means; a wrong one fails there.
  readonly body: any;
}

export interface CallOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface TestWorkspace {
  readonly id: string;
  readonly name: string;
  /** A fresh key's secret. Scopes other than the workspace's name their object. */
  key(role: Role, scope?: Scope): Promise<string>;
  /** A private manager and its runtime key. It serves the whole workspace where a test does not say whom. */
  manager(served?: {
    readonly deploymentGroupId?: string;
    readonly shared?: boolean;
  }): Promise<{ readonly id: string; readonly key: string }>;
  /** Makes the user a member, or gives it another role. */
  member(user: TestUser, role: WorkspaceRole): Promise<void>;
}

/** A person who has signed in. `call` with `key: user.token`, or as a browser with `headers: user.headers`. */
export interface TestUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** An OAuth access token. */
  readonly token: string;
  /** `sp_session=…` */
  readonly cookie: string;
  /** The cookie, and the origin that a page of ours has. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One running platform on one database, shared by tests and files. Data is not shared: each test makes a workspace. */
export interface World {
  readonly database: "PGlite" | "PostgreSQL";
  readonly platform: RunningPlatform;
  readonly clock: TestClock;
  workspace(): Promise<TestWorkspace>;
  /** A user with a session and a token; member of nothing. Without an address: a fresh one. */
  user(user?: { readonly email?: string; readonly name?: string }): Promise<TestUser>;
  /**
   * Without a socket, which costs more than most answers do; with `signal` over one, so that a platform sees the caller
   * go. See `overSockets`.
   */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

interface Running {
  readonly platform: RunningPlatform;
  readonly clock: TestClock;
  close(): Promise<void>;
}

type Options = Omit<Partial<StartOptions>, "database" | "clock">;

/** For a file that looks at all rows of a table or makes what all workspaces see: managers of the system, builders, sweeps. */
export const OWN_PLATFORM: Options = {};

/**
 * Runs the tests on PostgreSQL where one is found. On PGlite, which is the same engine for one connection, a full run has
 * them as well; a short one where there is no PostgreSQL. Files without options share a worker's platforms.
 */
export function onEachDatabase(subject: string, tests: (world: World) => void, options?: Options): void {
  const hasPostgres = findPostgres() !== undefined;
  const databases: { database: World["database"] }[] = hasPostgres ? [{ database: "PostgreSQL" }] : [];
  if (!hasPostgres || isFull) databases.push({ database: "PGlite" });
  describe.each(databases)(`${subject} on $database`, ({ database }) => {
    let world: Running | undefined;
    const running = (): Running => {
      if (world === undefined) throw new Error("the platform is not up yet: use the world inside of a test");
      return world;
    };

    beforeAll(async () => {
      world = await (options === undefined ? sharedOn(database) : startOn(database, options));
    }, 120_000);

    afterAll(async () => {
      if (options === undefined) {
        if (world?.clock.isHeld === false) return;
        shared.delete(database);
      }
      await world?.close();
    }, 60_000);

    tests({
      database,
      get platform() {
        return running().platform;
      },
      get clock() {
        return running().clock;
      },
      workspace: () => newWorkspace(running()),
      user: (user) => newUser(running(), user),
      call: (method, path, callOptions) => callWithin(running().platform, method, path, callOptions),
    });
  });
}

/**
 * Of this worker. A start takes two seconds of a core, and eighty files would each pay it twice. The end of the worker's
 * process ends them.
 */
const shared = new Map<World["database"], Promise<Running>>();

function sharedOn(database: World["database"]): Promise<Running> {
  const running = shared.get(database) ?? startOn(database, {});
  shared.set(database, running);
  return running;
}

/** Migrations are half of what a start costs. */
const MIGRATED: Content = {
  name: "migrated",
  fill: async (url) => (await openDatabase({ postgres: url })).close(),
};

async function startOn(database: World["database"], options: Options): Promise<Running> {
  const server = database === "PostgreSQL" ? await findPostgres()?.(MIGRATED) : undefined;
  const location: DatabaseLocation = server === undefined ? await inMemory() : { postgres: server.url };
  const clock = new TestClock();
  const platform = await startPlatform({ database: location, clock, rateLimits: false, ...options });
  return {
    platform,
    clock,
    async close() {
      await platform.close();
      await server?.stop();
    },
  };
}

let made = 0;

async function newWorkspace({ platform, clock }: Running): Promise<TestWorkspace> {
  made += 1;
  const { bootstrap } = platform;
  const { id, name } = await bootstrap.workspace(`test-${made}`);
  return {
    id,
    name,
    async key(role, scope) {
      if (scope === undefined && scopeOf(role) !== "workspace") throw new Error(`${role} needs its scope's object`);
      return (await bootstrap.key({ workspaceId: id, role, scope: scope ?? { type: "workspace" } })).key;
    },
    manager: (served = { shared: true }) => bootstrap.manager({ workspaceId: id, name: "a-manager", ...served }),
    member: (user, role) => putMember(platform.db, id, user.id, role, clock.wallNow()),
  };
}

const TOKEN_LIFE_MS = 15 * 60_000;

async function newUser(
  { platform: { db, url }, clock }: Running,
  { email, name = "A User" }: { readonly email?: string; readonly name?: string } = {},
): Promise<TestUser> {
  made += 1;
  const now = clock.wallNow();
  const user = await findOrCreateUser(db, { email: email ?? `user-${made}@example.com`, name }, now);
  const token = `${ACCESS_TOKEN_PREFIX}${randomText(43, ALPHANUMERIC)}`;
  const common = {
    user_id: user.id,
    grant_id: `grant of ${token.slice(-8)}`,
    payload: json({}),
    expires_at: new Date(now.getTime() + TOKEN_LIFE_MS),
  };
  await db
    .insertInto("oauth_records")
    .values([
      { kind: "Grant", id_hash: hashOf(common.grant_id), ...common },
      { kind: ACCESS_TOKEN_KIND, id_hash: hashOf(token), ...common },
    ])
    .execute();
  const cookie = `${SESSION_COOKIE}=${await createSession(db, user.id, now)}`;
  const { origin } = new URL(url);
  return { id: user.id, email: user.email, name: user.name, token, cookie, headers: { cookie, origin } };
}

/** The same world, for tests of what lies between a socket and a route: bytes, limits, connections, time. */
export function overSockets(world: World): World {
  const overSocket: World["call"] = (...request) => call(world.platform.url, ...request);
  return Object.create(world, { call: { value: overSocket } });
}

/** Over a socket. */
export async function call(baseUrl: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { url, headers, body } = requestOf(baseUrl, path, options);
  const { signal } = options;
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers,
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  });
  return legible(method, url, answerOf(response.status, response.headers, await response.text()));
}

async function callWithin(
  { url: baseUrl, inject }: RunningPlatform,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  if (options.signal !== undefined) return call(baseUrl, method, path, options);
  const { url, headers, body } = requestOf(baseUrl, path, options);
  const response = await inject({
    method: method as "GET",
    url: `${url.pathname}${url.search}`,
    headers: { host: url.host, ...headers },
    ...(body !== undefined && { payload: body }),
  });
  // On PGlite an answer takes no turn of the event loop: a loop of calls would keep all sockets waiting for ever.
  await setImmediate();
  const answered = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    for (const one of [value].flat()) answered.append(name, String(one));
  }
  return legible(method, url, answerOf(response.statusCode, answered, response.payload));
}

/** Whatever a test is about, a stranger's client could read the answer. @throws Error else */
function legible(method: string, { pathname }: URL, answer: Answer): Answer {
  const faults = misread(method, pathname, answer.status, answer.body);
  if (faults.length === 0) return answer;
  throw new Error(`not as the API is described: ${faults.join("; ")}\n${JSON.stringify(answer.body).slice(0, 4_000)}`);
}

function requestOf(baseUrl: string, path: string, { key, body, query = {}, headers = {} }: CallOptions) {
  const url = new URL(path, baseUrl);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return {
    url,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  };
}

function answerOf(status: number, headers: Headers, text: string): Answer {
  return { status, headers, body: text === "" ? undefined : JSON.parse(text) };
}
