import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../lab/cluster/ports.ts";
import { silentLogger } from "../base/log.ts";
import { ConfigError } from "../base/settings.ts";
import { readPlatformConfig } from "./platform-config.ts";
import { startPlatform } from "./server.ts";
import { inFolder, inMemory } from "./testing/empty-database.ts";
import { call, onEachDatabase } from "./testing/harness.ts";

describe("one folder", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sallyport-platform-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("keeps what was written when the platform is started again", async () => {
    const first = await startPlatform({ database: await inFolder(folder) });
    const { id: workspaceId } = await first.bootstrap.workspace("kept");
    const { key } = await first.bootstrap.key({ workspaceId, role: "workspace.viewer", scope: { type: "workspace" } });
    await first.close();
    const second = await startPlatform({ database: { pglite: folder } });
    expect((await call(second.url, "GET", "/v1/whoami", { key })).body.workspaceName).toBe("kept");
    await second.close();
    expect((await readdir(folder)).sort()).toEqual(["database", "lock", "objects", "sealing-key"]);
    expect((await stat(join(folder, "sealing-key"))).mode & 0o777).toBe(0o600);
  });

  it("belongs to one platform at a time", async () => {
    const first = await startPlatform({ database: await inFolder(folder) });
    await expect(startPlatform({ database: { pglite: folder } })).rejects.toThrow(/is in use by another process/);
    await first.close();
    const second = await startPlatform({ database: { pglite: folder } });
    await second.close();
  });

  it("is closed again when the start fails at what it has to say", async () => {
    const first = await startPlatform({ database: await inFolder(folder) });
    const { id: workspaceId } = await first.bootstrap.workspace("acme");
    await first.bootstrap.manager({ workspaceId, name: "of no customer" });
    await first.close();
    const warn = () => {
      throw new Error("the log is full");
    };
    const failing = startPlatform({ database: { pglite: folder }, log: { ...silentLogger, warn } });
    await expect(failing).rejects.toThrow("the log is full");
    await (await startPlatform({ database: { pglite: folder } })).close();
  });

  it("answers nothing before what a start prepares is there", async () => {
    const port = await freePort();
    let made: string | undefined;
    const platform = await startPlatform({
      database: await inFolder(folder),
      port,
      async prepare({ workspace }) {
        await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow("fetch failed");
        made = (await workspace("acme")).id;
      },
    });
    expect(made).toBeDefined();
    await platform.close();
  });

  it("is closed again when the port is taken", async () => {
    await using server = await listening();
    const database = await inFolder(folder);
    await expect(startPlatform({ database, port: server.port })).rejects.toThrow(/EADDRINUSE/);
    await (await startPlatform({ database })).close();
  });
});

onEachDatabase("what the platform tells of itself", (world) => {
  it("neither logs nor metrics nor errors hold a key, a body or a query", async () => {
    const lines: string[] = [];
    const registry = new Registry();
    const log = pino({ level: "debug" }, { write: (line) => lines.push(line) });
    const platform = await startPlatform({ database: await inMemory(), log, registry });
    const { id: workspaceId } = await platform.bootstrap.workspace("quiet");
    const { key } = await platform.bootstrap.key({
      workspaceId,
      role: "workspace.admin",
      scope: { type: "workspace" },
    });
    const body = { description: "canary-body", scope: { type: "workspace", role: "workspace.viewer" } };
    const minted = await call(platform.url, "POST", "/v1/api-keys", { key, body, query: { zz: "canary-query" } });
    const refused = await call(platform.url, "POST", "/v1/api-keys", { key, body: { ...body, scope: "canary-scope" } });
    const unknown = await call(platform.url, "GET", "/v1/whoami", { key: `${key.slice(0, -1)}!` });
    await platform.close();
    expect(minted.status).toBe(201);
    const told = [...lines, await registry.metrics(), JSON.stringify([refused.body, unknown.body])].join("\n");
    expect(told).toContain('"route":"/v1/api-keys"');
    for (const secret of [key, key.slice(20), minted.body.apiKey, "canary-body", "canary-query", "canary-scope"]) {
      expect(told).not.toContain(secret);
    }
  });

  it("an answer outside the contract is a 500 that says nothing, and leaves nothing behind", async () => {
    const { id, key } = await world.workspace();
    const admin = await key("workspace.admin");
    // A row that no release of ours writes.
    await world.platform.db.updateTable("api_keys").set({ key_prefix: "x" }).where("workspace_id", "=", id).execute();
    const [row] = (await world.call("GET", "/v1/api-keys", { key: admin })).body.items;
    const broken = sql<never>`'7'::jsonb`;
    await world.platform.db
      .updateTable("api_keys")
      .set({ deployment_setup_config: broken })
      .where("id", "=", row.id)
      .execute();
    const answer = await world.call("PATCH", `/v1/api-keys/${row.id}`, {
      key: admin,
      body: { description: "changed" },
    });
    expect(answer.body).toMatchObject({
      code: "INTERNAL_ERROR",
      message: "Internal error",
      internal: true,
      context: null,
    });
    const stored = await world.platform.db
      .selectFrom("api_keys")
      .select("description")
      .where("id", "=", row.id)
      .execute();
    expect(stored).toEqual([{ description: null }]);
  });
});

it("a port in use is told before the database is made or migrated", async () => {
  const data = join(await mkdtemp(join(tmpdir(), "sallyport-port-")), "data");
  await using server = await listening();
  const { port } = server;
  for (const ports of [{ port }, { metricsPort: port }]) {
    const second = startPlatform({ database: { pglite: data }, ...ports });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE", syscall: "listen", port });
  }
  expect(existsSync(data)).toBe(false);
});

async function listening(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

describe("metrics", () => {
  it("are served on a port of their own", async () => {
    const registry = new Registry();
    const metricsPort = await freePort();
    const platform = await startPlatform({ database: await inMemory(), registry, metricsPort });
    await call(platform.url, "GET", "/v1/whoami");
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(text).toContain('sallyport_http_requests_total{method="GET",route="/v1/whoami",code_class="4xx"} 1');
    expect((await call(platform.url, "GET", "/metrics")).status).toBe(404);
    await platform.close();
  });
});

describe("configuration", () => {
  it("names every wrong setting at once and quotes no secret", () => {
    const wrong = {
      SALLYPORT_PLATFORM_PORT: "http",
      SALLYPORT_PLATFORM_RATE_LIMITS: "maybe",
      SALLYPORT_PLATFORM_DATABASE_URL: "mysql://canary",
      SALLYPORT_PLATFORM_SEALING_KEY: "canary",
      SALLYPORT_PLATFORM_SETUP_TEMPLATE_URL: "http://bucket.s3.amazonaws.com/canary",
    };
    const read = (): unknown => readPlatformConfig(wrong);
    expect(read).toThrow(ConfigError);
    for (const name of Object.keys(wrong)) expect(read).toThrow(name);
    expect(read).not.toThrow(/canary/);
  });

  it("says of a list which of its items are wrong, and of a key how to make one", () => {
    const read = (name: string, value: string) => () =>
      readPlatformConfig({ SALLYPORT_PLATFORM_DATABASE_URL: "postgres://db", [`SALLYPORT_PLATFORM_${name}`]: value });
    const wrong = read("BUDGETS", "uploads=3,group-api-keys=0,loads=5");
    expect(wrong).toThrow(/sizes from 1 on; not so: "group-api-keys=0", "loads=5"; budgets are workspace-api-keys/);
    expect(wrong).toThrow(/SALLYPORT_PLATFORM_SEALING_KEY must be set with PostgreSQL: openssl rand -hex 32/);
  });

  it("has a default for everything", () => {
    expect(readPlatformConfig({})).toMatchObject({ database: { pglite: "./data" }, port: 8080, rateLimits: true });
  });
});
