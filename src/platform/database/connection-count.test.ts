import { DummyDriver, Kysely, PostgresDialect, sql } from "kysely";
import { expect, test } from "vitest";
import { counted } from "./connection-count.ts";

test("a connection is busy while somebody has it, and whoever is in line waits", async () => {
  const opened = Promise.withResolvers<void>();
  const driver = new DummyDriver();
  const acquire = driver.acquireConnection.bind(driver);
  driver.acquireConnection = async () => {
    await opened.promise;
    return acquire();
  };
  const inner = new PostgresDialect({ pool: async () => Promise.reject(new Error("not asked")) });
  const { dialect, connections } = counted({ ...methodsOf(inner), createDriver: () => driver }, 4);
  const db = new Kysely<unknown>({ dialect });
  expect(connections()).toEqual({ busy: 0, waiting: 0, most: 4 });
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const done = db.connection().execute(async () => {
    asked.resolve();
    await held.promise;
  });
  await Promise.resolve();
  await Promise.resolve();
  opened.resolve();
  await asked.promise;
  expect(connections()).toEqual({ busy: 1, waiting: 0, most: 4 });
  held.resolve();
  await done;
  await sql`select 1`.execute(db);
  expect(connections()).toEqual({ busy: 0, waiting: 0, most: 4 });
});

function methodsOf(dialect: PostgresDialect) {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db: Kysely<unknown>) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
  };
}

test("a connection that could not be had is neither busy nor waited for", async () => {
  const inner = new PostgresDialect({ pool: async () => Promise.reject(new Error("no such server")) });
  const { dialect, connections } = counted(inner, 10);
  const db = new Kysely<unknown>({ dialect });
  await expect(sql`select 1`.execute(db)).rejects.toThrow("no such server");
  expect(connections()).toEqual({ busy: 0, waiting: 0, most: 10 });
});
