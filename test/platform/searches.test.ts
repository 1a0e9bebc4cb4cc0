import { randomBytes } from "node:crypto";
import { PGlite } from "@electric-sql/pglite";
import { Kysely, PGliteDialect, sql } from "kysely";
import { Migrator } from "kysely/migration";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isFull } from "../../src/base/testing/full.ts";
import { VERSION } from "../../src/platform/areas/packages/store.ts";
import { contains } from "../../src/platform/database/contains.ts";
import { migrations } from "../../src/platform/database/migrations/all.ts";
import type { DatabaseLocation } from "../../src/platform/database/open.ts";
import { type RunningPlatform, startPlatform } from "../../src/platform/server.ts";
import { inMemory, withoutTables } from "../../src/platform/testing/empty-database.ts";
import { call } from "../../src/platform/testing/harness.ts";
import { findPostgres } from "../../src/platform/testing/postgres.ts";

// Searches find the same rows with and without the indexes of migration 0015. A database may lack their extension, or
// its role may not create it.

const postgres = findPostgres();

const DATABASES: Readonly<Record<string, (parts: AsyncDisposableStack) => Promise<DatabaseLocation>>> = {
  ...((isFull || postgres === undefined) && { PGlite: inMemory, "PGlite without the extension": migratedWithout }),
  ...(postgres !== undefined && {
    PostgreSQL: async (parts) => ({ postgres: await database(parts) }),
    "PostgreSQL whose role may not create it": async (parts) => ({ postgres: await asMereUser(await database(parts)) }),
    "PostgreSQL with it in a schema of its own": async (parts) => {
      const url = await database(parts);
      await ask(url, "create schema parts", "create extension pg_trgm schema parts");
      return { postgres: await asMereUser(url, "grant usage on schema parts to") };
    },
  }),
};
const WITHOUT = ["PGlite without the extension", "PostgreSQL whose role may not create it"];

/** The indexed columns, as the areas' lists name them. */
const INDEXED = {
  deployments_search: "k.name",
  deployment_groups_search: "k.name",
  commands_search: "k.name",
  packages_search: VERSION,
  releases_search: sql`k.git_metadata ->> 'commitMessage'`,
};

const SHA = "0123456789abcdef".repeat(4).slice(0, 40);
const RELEASES = [
  { version: "1.0.0", gitMetadata: { commitSha: SHA, commitMessage: "Fix 100% of it", commitRef: "refs/heads/main" } },
  { version: "2.0.0-RC", gitMetadata: { commitRef: "feature/x_y" } },
  { version: "3\\0" },
  { version: "Ärger", gitMetadata: { commitMessage: "100 of it" } },
];
/** The parts of a name by which each row must be found. */
const FOUND: Readonly<Record<string, readonly string[]>> = {
  "100%": ["1.0.0"],
  "100": ["1.0.0", "Ärger"],
  "fix 100% OF it": ["1.0.0"],
  MAIN: ["1.0.0"],
  "-rc": ["2.0.0-RC"],
  RE: ["1.0.0", "2.0.0-RC"],
  x_y: ["2.0.0-RC"],
  "x%y": [],
  "0.0": ["1.0.0", "2.0.0-RC"],
  "\\": ["3\\0"],
  "3\\0": ["3\\0"],
  "3\\\\0": [],
  rger: ["Ärger"],
  "0123": ["1.0.0"],
  "0123456789ABCDEF": ["1.0.0"],
  "012": [],
  "1234": [],
  "no such": [],
};

describe.each(Object.keys(DATABASES))("searches on %s", (title) => {
  const parts = new AsyncDisposableStack();
  let platform: RunningPlatform;
  let key = "";

  const get = (path: string, query: Record<string, string>) => call(platform.url, "GET", path, { key, query });
  const post = async (path: string, body: object) => {
    const answer = await call(platform.url, "POST", path, { key, body });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  };
  const names = async (path: string, query: Record<string, string>): Promise<string[]> => {
    const { status, body } = await get(path, query);
    expect(status, JSON.stringify(body)).toBe(200);
    return body.items.map((item: { name?: string; version?: string }) => item.name ?? item.version).toSorted();
  };

  beforeAll(async () => {
    const location = await DATABASES[title]?.(parts);
    if (location === undefined) throw new Error("no such database");
    platform = await startPlatform({ database: location, rateLimits: false, sealingKey: Buffer.alloc(32) });
    parts.defer(() => platform.close());
    const { id: workspaceId } = await platform.bootstrap.workspace("searches");
    key = (await platform.bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } })).key;
    const manager = await platform.bootstrap.manager({ workspaceId, name: "a-manager", shared: true });
    const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
    await call(platform.url, "POST", `/v1/managers/${manager.id}/heartbeat`, { key: manager.key, body: beat });
    await post("/v1/projects", { name: "shop" });
    for (const release of RELEASES) await post("/v1/releases", { project: "shop", ...release });
    for (const group of ["customers-eu", "customers-us", "ours"]) {
      const { id } = await post("/v1/deployment-groups", { name: group, project: "shop", maxDeployments: 10 });
      for (const n of [1, 2]) {
        const name = `${group === "ours" ? "us-east" : "one"}-${n}`;
        await post("/v1/deployments", {
          ...{ name, project: "shop", platform: "kubernetes", deploymentGroupId: id, managerId: manager.id },
        });
      }
    }
  });
  afterAll(() => parts.disposeAsync());

  it("have indexes where there may be, and only there", async () => {
    for (const [index, text] of Object.entries(INDEXED)) {
      const plan = await platform.db.transaction().execute(async (db) => {
        // As for a table that is too long to be read from one end to the other.
        for (const way of ["seqscan", "indexscan", "indexonlyscan"])
          await sql`set local ${sql.raw(`enable_${way}`)} = off`.execute(db);
        const [table = ""] = index.split("_search");
        return await sql`explain select from ${sql.table(table)} as k where ${contains(text, "part")}`.execute(db);
      });
      expect(JSON.stringify(plan.rows).includes(index), index).toBe(!WITHOUT.includes(title));
    }
  });

  it("of releases find parts of message, branch and version, and beginnings of sha and id", async () => {
    for (const [search, versions] of Object.entries(FOUND)) {
      expect(await names("/v1/releases", { allChannels: "true", search }), search).toEqual(versions);
    }
    const [{ id }] = (await get("/v1/releases", { allChannels: "true", search: "rger" })).body.items;
    for (const search of [id, id.slice(0, 12)])
      expect(await names("/v1/releases", { allChannels: "true", search })).toEqual(["Ärger"]);
    expect(await names("/v1/releases", { allChannels: "true", search: id.slice(5) })).toEqual([]);
  });

  it("of groups and deployments find parts of names, deployments by their group's too", async () => {
    expect(await names("/v1/deployment-groups", { search: "CUSTOMERS" })).toEqual(["customers-eu", "customers-us"]);
    expect(await names("/v1/deployment-groups", { search: "no such" })).toEqual([]);
    const found = (search: string) => names("/v1/deployments", { search });
    expect(await found("customers")).toEqual(["one-1", "one-1", "one-2", "one-2"]);
    expect(await found("Customers-EU")).toEqual(["one-1", "one-2"]);
    // Some match by their own name, some by their group's.
    const both = ["one-1", "one-1", "one-2", "one-2", "us-east-1", "us-east-2"];
    expect(await found("us")).toEqual(both);
    expect(await found("-us")).toEqual(["one-1", "one-2"]);
    expect(await found("us-")).toEqual(["us-east-1", "us-east-2"]);
    expect(await found("east-1")).toEqual(["us-east-1"]);
    expect(await found("no such")).toEqual([]);
    const { total } = (await get("/v1/deployments/stats", { search: "customers" })).body;
    expect(total).toBe(4);
    const [{ id }] = (await get("/v1/deployments", { search: "east-1" })).body.items;
    expect(await found(id)).toEqual(["us-east-1"]);
    expect(await found(id.slice(0, 12))).toEqual([]);
  });

  it("of deployments find them in more groups than are looked up", async () => {
    await sql`
      insert into deployment_groups (id, workspace_id, project_id, name, max_deployments, created_at)
      select 'dg_' || lpad(n::text, 28, '0'), g.workspace_id, g.project_id, 'ours-too-' || n, 1, now()
      from deployment_groups g, generate_series(1, 1000) n where g.name = 'ours'`.execute(platform.db);
    expect(await names("/v1/deployments", { search: "ours" })).toEqual(["us-east-1", "us-east-2"]);
    await sql`delete from deployment_groups where name like 'ours-too-%'`.execute(platform.db);
  });

  it("turn pages", async () => {
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query = { search: "customers", limit: "1", ...(cursor !== "" && { cursor }) };
      const { body } = await get("/v1/deployments", query);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
    }
    expect(new Set(seen).size).toBe(4);
    expect(seen).toHaveLength(4);
  });

  it("take every character of a text as itself", async () => {
    const letters = ["a", "B", "%", "_", "\\", "'"];
    const pairs = letters.flatMap((one) => letters.map((other) => one + other));
    const texts = ["", ...letters, ...pairs, ...pairs.flatMap((pair) => letters.map((letter) => pair + letter))];
    for (const part of ["", ...letters, ...pairs, "a%B", "\\\\_", "ab'"]) {
      const { rows } = await sql<{ text: string }>`
        select text from unnest(${texts}::text[]) as t (text) where ${contains("text", part)}`.execute(platform.db);
      const expected = texts.filter((text) => text.toLowerCase().includes(part.toLowerCase()));
      expect(rows.map(({ text }) => text).toSorted(), part).toEqual(expected.toSorted());
    }
  });
});

/** A database that another program has made, without the extension. */
async function migratedWithout(): Promise<DatabaseLocation> {
  const pglite = await PGlite.create(await withoutTables());
  const db = new Kysely<unknown>({ dialect: new PGliteDialect({ pglite }) });
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
  }).migrateToLatest();
  if (error !== undefined) throw error;
  const dump = await pglite.dumpDataDir("none");
  await db.destroy();
  return { pglite: "memory", dump };
}

async function database(parts: AsyncDisposableStack): Promise<string> {
  const server = await postgres?.();
  if (server === undefined) throw new Error("no PostgreSQL");
  parts.defer(() => server.stop());
  return server.url;
}

/** The same database for a role that may only make tables there. */
async function asMereUser(url: string, grant = "grant usage on schema public to"): Promise<string> {
  const user = `mere_${randomBytes(6).toString("hex")}`;
  await ask(
    url,
    `create role ${user} login password '${user}'`,
    `grant create, usage on schema public to ${user}`,
    `${grant} ${user}`,
  );
  const theirs = new URL(url);
  [theirs.username, theirs.password] = [user, user];
  return theirs.href;
}

async function ask(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
