import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { PGlite } from "@electric-sql/pglite";
import { type Dialect, Kysely, PGliteDialect, PostgresDialect, sql } from "kysely";
import { Migrator } from "kysely/migration";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, createClient } from "../../src/api-client/client.ts";
import { pages } from "../../src/api-client/pages.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { exportFolder, importFolder } from "../../src/platform/administration/dump.ts";
import { wrongTallies } from "../../src/platform/areas/releases/testing/tallied.ts";
import { migrations } from "../../src/platform/database/migrations/all.ts";
import type { DatabaseLocation } from "../../src/platform/database/open.ts";
import { type RunningPlatform, startPlatform } from "../../src/platform/server.ts";
import { withoutTables } from "../../src/platform/testing/empty-database.ts";
import { findPostgres } from "../../src/platform/testing/postgres.ts";

// Migrates a database that the platform of migration 0009 wrote through its API, with rows in every table. Nothing may
// be lost, and everything must be readable.

const OLD = "0009-group-tokens";
const FIXTURE = join(import.meta.dirname, "fixtures", "rows-of-0009.json.gz");
/** The key that sealed its values. */
const SEALING_KEY = Buffer.from("5a".repeat(32), "hex");

type Row = Readonly<Record<string, unknown>>;
type Rows = Readonly<Record<string, readonly Row[]>>;

const postgres = findPostgres();
const databases = ["PGlite, exported and imported", ...(postgres === undefined ? [] : ["PostgreSQL"])];

describe.each(databases)("a database of migration 0009 on %s, brought to today", (database) => {
  const parts = new AsyncDisposableStack();
  const signal = AbortSignal.timeout(300_000);
  let rows: Rows = {};
  let workspaceId = "";
  let platform: RunningPlatform;
  let admin: Client;
  let runtimes: ReadonlyMap<string, Client>;

  beforeAll(async () => {
    rows = JSON.parse(gunzipSync(await readFile(FIXTURE)).toString());
    const location = await oldDatabase(database, rows, parts);
    platform = await startPlatform({
      database: location,
      clock: clockOf(rows),
      rateLimits: false,
      sealingKey: SEALING_KEY,
    });
    parts.defer(() => platform.close());
    const open = (credential: string): Client => {
      const client = createClient({ baseUrl: platform.url, credential });
      parts.defer(() => client.close());
      return client;
    };
    workspaceId = text(table("workspaces").find((row) => row.is_system === false)?.id);
    const scope = { type: "workspace" } as const;
    admin = open((await platform.bootstrap.key({ workspaceId, role: "workspace.admin", scope })).key);
    const made = new Map<string, Client>();
    for (const { id } of table("managers").filter((row) => row.workspace_id === workspaceId)) {
      const managerId = text(id);
      const order = { workspaceId, role: "manager.runtime", scope: { type: "manager", managerId } } as const;
      made.set(managerId, open((await platform.bootstrap.key(order)).key));
    }
    runtimes = made;
  }, 180_000);
  afterAll(() => parts.disposeAsync(), 60_000);

  const table = (name: string): readonly Row[] => rows[name] ?? [];

  it("has rows in every table that there was", () => {
    expect(Object.entries(rows).filter(([, each]) => each.length === 0)).toEqual([]);
  });

  it("has as many rows as before in each of them", async () => {
    // This test's key and its managers' keys are new. Add a table here that a later migration renames or drops.
    const setUp = table("managers").filter(({ internal_project_id }) => internal_project_id !== null);
    const running = setUp.filter((row) => row.internal_deployment_id !== null && row.setup_status !== "pending");
    const added: Readonly<Record<string, number>> = {
      api_keys: 1 + runtimes.size,
      // Since migration 0017 the managers' own deployments have rows, in a workspace without members.
      workspaces: setUp.length === 0 ? 0 : 1,
      projects: setUp.length,
      deployment_groups: setUp.length,
      deployments: running.length,
    };
    for (const [name, before] of Object.entries(rows)) {
      const { rows: counted } = await sql<{ count: number }>`select count(*) as count from ${sql.table(name)}`.execute(
        platform.db,
      );
      expect(Number(counted[0]?.count), name).toBe(before.length + (added[name] ?? 0));
    }
  });

  it("counts its deployments, and lists its promotions", async () => {
    expect(await wrongTallies(platform.db)).toEqual([]);
    const live = new Set(
      table("deployments").flatMap(({ status, project_id }) => (status === "deleted" ? [] : project_id)),
    );
    expect(live.size).toBeGreaterThan(0);
    const tallied = await sql<{ owner_id: string }>`select distinct owner_id from deployment_tallies`.execute(
      platform.db,
    );
    expect(tallied.rows.map((row) => row.owner_id)).toEqual(expect.arrayContaining([...live]));
    const promoted = table("channel_promotions").filter(({ channel }) => channel === "production");
    const { items } = await admin.releases.list({ query: { limit: 100 } }, signal);
    expect(items.map(({ id }) => id).toSorted()).toEqual(promoted.map((row) => text(row.release_id)).toSorted());
  });

  const readers: Readonly<Record<string, (row: Row) => Promise<unknown>>> = {
    access_requests: ({ id }) => admin.accessRequests.get({ params: { id: text(id) } }, signal),
    api_keys: ({ id }) => admin.apiKeys.get({ params: { id: text(id) } }, signal),
    commands: ({ id }) =>
      admin.commands.get({ params: { id: text(id) }, query: { include: ["payload", "deployment"] } }, signal),
    debug_sessions: ({ id }) => admin.debugSessions.get({ params: { id: text(id) } }, signal),
    deployment_groups: ({ id }) =>
      admin.deploymentGroups.get({ params: { id: text(id) }, query: { include: ["project"] } }, signal),
    events: ({ id }) => admin.events.get({ params: { id: text(id) } }, signal),
    managers: ({ id }) => admin.managers.get({ params: { id: text(id) } }, signal),
    packages: ({ id }) => admin.packages.get({ params: { id: text(id) } }, signal),
    projects: ({ id }) => admin.projects.get({ params: { idOrName: text(id) } }, signal),
    releases: ({ id }) => admin.releases.get({ params: { id: text(id) }, query: { include: ["rollout"] } }, signal),
    resource_heartbeats: (row) =>
      admin.resources.get(
        {
          params: {
            resourceType: "container",
            deploymentId: text(row.deployment_id),
            resourceId: text(row.resource_id),
          },
          query: { project: ofDeployment(row) },
        },
        signal,
      ),
  };
  const ofDeployment = (row: Row): string =>
    text(table("deployments").find(({ id }) => id === row.deployment_id)?.project_id);

  it.each(Object.entries(readers))("reads every row of %s", async (name, read) => {
    // Only its managers may read what belongs to the system's own workspace.
    const own = table(name).filter((row) => name === "managers" || (row.workspace_id ?? workspaceId) === workspaceId);
    expect(own.length).toBeGreaterThan(0);
    for (const row of own) await read(row);
  });

  it("reads every deployment, as an engineer and as its manager, sealed values too", async () => {
    for (const row of table("deployments")) {
      const id = text(row.id);
      const found = await admin.deployments.get({ params: { id }, query: { include: ["release", "project"] } }, signal);
      expect(found.status).toBe(row.status);
    }
    for (const [id, runtime] of runtimes) {
      const { deployments } = await runtime.sync.list({ body: { limit: 500 } }, signal);
      const assigned = table("deployments").filter((row) => row.manager_id === id && row.status !== "deleted");
      expect(new Set(deployments.map((each) => each.id))).toEqual(new Set(assigned.map((row) => row.id)));
      await runtime.managerRuntime.work({ params: { id } }, signal);
    }
  });

  it("reads what belongs to projects: policies, plugins, channels, packages, resources", async () => {
    for (const { id } of table("projects")) {
      const query = { project: text(id) };
      const channels = (await admin.releaseChannels.list({ query }, signal)).items.map(({ name }) => name);
      const kept = table("release_channels").filter((row) => row.project_id === id);
      expect(channels.toSorted()).toEqual(kept.map((row) => text(row.name)).toSorted());
      const { plugins } = await admin.operations.listPlugins({ query }, signal);
      for (const plugin of table("custom_plugins").filter((row) => row.project_id === id))
        expect(plugins.map(({ name }) => name)).toContain(plugin.name);
      const { rules } = await admin.operations.getPolicy({ query }, signal);
      const policies = table("operation_policies").filter((row) => row.project_id === id);
      if (policies.length > 0) expect(rules.length).toBeGreaterThan(0);
      const { resources } = await admin.resources.list({ query }, signal);
      const observed = table("inventory_rows").filter((row) => ofDeployment(row) === id);
      expect(resources.filter(({ source }) => source === "observed")).toHaveLength(observed.length);
      for await (const each of pages(admin.releases.list, { query: { ...query, allChannels: true } }, signal))
        void each;
    }
  });

  it("reads fleets with their machines and tokens", async () => {
    for (const { deployment_id } of table("machine_clusters")) {
      const params = { id: text(deployment_id) };
      const { tokens } = await admin.machines.listTokens({ params }, signal);
      const kept = table("join_tokens").filter((row) => row.deployment_id === deployment_id);
      expect(tokens.map(({ id }) => id).toSorted()).toEqual(kept.map((row) => text(row.id)).toSorted());
      const { machines } = await admin.machines.inventory({ params }, signal);
      const joined = table("machines").filter((row) => row.deployment_id === deployment_id && row.status !== "removed");
      expect(machines.map(({ machineId }) => machineId).toSorted()).toEqual(
        joined.map((row) => text(row.machine_id)).toSorted(),
      );
    }
  });
});

/** Makes the old schema with the rows in it, and returns its place. */
async function oldDatabase(database: string, rows: Rows, parts: AsyncDisposableStack): Promise<DatabaseLocation> {
  if (database === "PostgreSQL" && postgres !== undefined) {
    const server = await postgres();
    parts.defer(() => server.stop());
    await fill(new PostgresDialect({ pool: new pg.Pool({ connectionString: server.url, max: 1 }) }), rows);
    return { postgres: server.url };
  }
  const folder = await mkdtemp(join(tmpdir(), "sallyport-old-"));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const [from, to, file] = [join(folder, "from"), join(folder, "to"), join(folder, "dump.tar")];
  await mkdir(from);
  const pglite = await PGlite.create({ dataDir: join(from, "database"), ...(await withoutTables()) });
  await fill(new PGliteDialect({ pglite }), rows);
  await exportFolder(from, file);
  await importFolder(to, file);
  return { pglite: to };
}

async function fill(dialect: Dialect, rows: Rows): Promise<void> {
  const db = new Kysely<unknown>({ dialect });
  const upTo = Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= OLD));
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => upTo } }).migrateToLatest();
  if (error !== undefined) throw error;
  // The rows include those that the migrations insert, and their order does not fit the foreign keys.
  await db.connection().execute(async (connection) => {
    await sql`set session_replication_role = replica`.execute(connection);
    for (const [name, each] of Object.entries(rows)) {
      await sql`delete from ${sql.table(name)}`.execute(connection);
      const json = JSON.stringify(each);
      await sql`insert into ${sql.table(name)} select * from jsonb_populate_recordset(null::${sql.table(name)}, ${json}::jsonb)`.execute(
        connection,
      );
    }
    await sql`set session_replication_role = origin`.execute(connection);
  });
  await db.destroy();
}

/** A clock that stands at the time of the rows: otherwise retention would delete them. */
function clockOf(rows: Rows): Clock {
  const at = Math.max(...(rows.events ?? []).map(({ created_at }) => Date.parse(text(created_at))));
  const started = systemClock.monotonicMs();
  return {
    monotonicMs: () => systemClock.monotonicMs(),
    after: (delayMs, task) => systemClock.after(delayMs, task),
    wallNow: () => new Date(at + systemClock.monotonicMs() - started),
  };
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new Error(`${String(value)} is no text`);
  return value;
}
