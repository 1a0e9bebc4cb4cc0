import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { Kysely, PGliteDialect } from "kysely";
import { Migrator } from "kysely/migration";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { migrations } from "../../src/platform/database/migrations/all.ts";
import { openDatabase } from "../../src/platform/database/open.ts";
import { withoutTables } from "../../src/platform/testing/empty-database.ts";
import { findPostgres } from "../../src/platform/testing/postgres.ts";

const FIXTURE = join(import.meta.dirname, "fixtures", "migrations.json");

it("a migration that has landed never changes: a database that ran it will not run it again", async () => {
  const recorded = JSON.parse(await readFile(FIXTURE, "utf8"));
  const found = await hashes();
  expect(
    found,
    `a new migration adds its line to test/platform/fixtures/migrations.json:\n${JSON.stringify(found, null, 2)}\n`,
  ).toEqual(recorded);
  expect(Object.keys(migrations)).toEqual(Object.keys(migrations).toSorted());
}, 120_000);

/** A hash of the statements of each migration, with their whitespace made equal. */
async function hashes(): Promise<Record<string, string>> {
  const sent: string[] = [];
  const db = new Kysely<unknown>({
    dialect: new PGliteDialect({ pglite: await PGlite.create(await withoutTables()) }),
    log: ({ level, query }) => void (level === "query" && sent.push(query.sql.replaceAll(/\s+/g, " ").trim())),
  });
  try {
    const result: Record<string, string> = {};
    for (const [name, migration] of Object.entries(migrations)) {
      sent.length = 0;
      await migration.up(db);
      result[name] = createHash("sha256").update(sent.join(";\n")).digest("hex");
    }
    return result;
  } finally {
    await db.destroy();
  }
}

const postgres = findPostgres();

describe.skipIf(postgres === undefined)("fifty replicas that start at once on an empty PostgreSQL", () => {
  it("migrate it once between them", { timeout: 120_000 }, async () => {
    const server = await postgres?.();
    if (server === undefined) throw new Error("no PostgreSQL");
    try {
      const told: (readonly string[])[] = [];
      const onMigrations = (names: readonly string[]) => void told.push(names);
      const start = () => openDatabase({ postgres: server.url, maxConnections: 1 }, { onMigrations });
      const opened = await Promise.allSettled(Array.from({ length: 50 }, start));
      await Promise.all(opened.map((each) => (each.status === "fulfilled" ? each.value.close() : undefined)));
      expect(
        opened.flatMap((each) => (each.status === "rejected" ? [String(each.reason?.cause ?? each.reason)] : [])),
      ).toEqual([]);
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      const { rows } = await client.query("select name from kysely_migration order by name");
      await client.end();
      expect(rows.map(({ name }) => name)).toEqual(Object.keys(migrations));
      expect(told[0]).toEqual(Object.keys(migrations));
      told.length = 0;
      await (await start()).close();
      expect(told).toEqual([]);
    } finally {
      await server.stop();
    }
  });
});

it("the migrator takes them in the order of their names", async () => {
  const db = new Kysely<unknown>({
    dialect: new PGliteDialect({ pglite: await PGlite.create(await withoutTables()) }),
  });
  const all = await new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } }).getMigrations();
  expect(all.map(({ name }) => name)).toEqual(Object.keys(migrations));
  await db.destroy();
});
