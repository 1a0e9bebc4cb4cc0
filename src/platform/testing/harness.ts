import { afterAll, beforeAll, describe } from "vitest";
import { type Role, scopeOf } from "../../contract/roles.ts";
import type { DatabaseLocation } from "../database.ts";
import type { Scope } from "../kernel/principal.ts";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { findPostgres } from "./postgres.ts";
import { TestClock } from "./test-clock.ts";

/** An answer, as it came over the socket. */
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
  /** A private manager and its runtime key. */
  manager(): Promise<{ readonly id: string; readonly key: string }>;
}

/** One running platform on one database, shared by a file's tests. Data is not shared: each test makes a workspace. */
export interface World {
  readonly database: "PGlite" | "PostgreSQL";
  readonly platform: RunningPlatform;
  readonly clock: TestClock;
  workspace(): Promise<TestWorkspace>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

/** Runs the tests on PGlite and, where one is found, on PostgreSQL. */
export function onEachDatabase(subject: string, tests: (world: World) => void): void {
  const postgres = findPostgres();
  const databases: { database: World["database"] }[] = [{ database: "PGlite" }];
  if (postgres !== undefined) databases.push({ database: "PostgreSQL" });
  describe.each(databases)(`${subject} on $database`, ({ database }) => {
    let platform: RunningPlatform | undefined;
    let stopDatabase = async (): Promise<void> => undefined;
    const clock = new TestClock();
    const running = (): RunningPlatform => {
      if (platform === undefined) throw new Error("the platform is not up yet: use the world inside of a test");
      return platform;
    };

    beforeAll(async () => {
      let location: DatabaseLocation = { pglite: "memory" };
      if (database === "PostgreSQL" && postgres !== undefined) {
        const server = await postgres();
        stopDatabase = server.stop;
        location = { postgres: server.url };
      }
      platform = await startPlatform({ database: location, clock, rateLimits: false });
    }, 120_000);

    afterAll(async () => {
      await platform?.close();
      await stopDatabase();
    }, 60_000);

    tests({
      database,
      get platform() {
        return running();
      },
      clock,
      workspace: () => newWorkspace(running()),
      call: (method, path, options) => call(running().url, method, path, options),
    });
  });
}

let made = 0;

async function newWorkspace(platform: RunningPlatform): Promise<TestWorkspace> {
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
    manager: () => bootstrap.manager({ workspaceId: id, name: "a-manager" }),
  };
}

export async function call(
  baseUrl: string,
  method: string,
  path: string,
  { key, body, query = {}, headers = {}, signal }: CallOptions = {},
): Promise<Answer> {
  const url = new URL(path, baseUrl);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}
