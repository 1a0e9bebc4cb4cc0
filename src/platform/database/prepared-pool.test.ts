import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { inTransaction } from "../kernel/call/transaction.ts";
import { findPostgres, type TestPostgres } from "../testing/postgres.ts";
import type { Db } from "./db.ts";
import { preparing, StatementNames } from "./prepared-pool.ts";

describe("names of statements", () => {
  it("are for texts that come often, and stay", () => {
    const names = new StatementNames();
    const given = Array.from({ length: 6 }, () => names.nameOf("select $1"));
    expect(given).toEqual([undefined, undefined, undefined, undefined, "s0_0", "s0_0"]);
  });

  it("are not for searches, each of which has a plan of its own", () => {
    const names = new StatementNames();
    const given = Array.from({ length: 6 }, () => names.nameOf("select $1 where lower(name) like lower($2)"));
    expect(given).toEqual(Array.from({ length: 6 }, () => undefined));
  });

  it("are other ones after the tables have changed", () => {
    const names = new StatementNames();
    for (let i = 0; i < 5; i += 1) names.nameOf("select $1");
    names.renew();
    for (let i = 0; i < 4; i += 1) expect(names.nameOf("select $1")).toBeUndefined();
    expect(names.nameOf("select $1")).toBe("s1_0");
  });

  it("are bounded, however many texts there are", () => {
    const names = new StatementNames();
    const given = new Set<string | undefined>();
    for (let text = 0; text < 5_000; text += 1) {
      for (let i = 0; i < 6; i += 1) given.add(names.nameOf(`select ${text}`));
    }
    given.delete(undefined);
    expect(given.size).toBe(256);
  });
});

const start = findPostgres();

describe.skipIf(start === undefined)("a pool that prepares", () => {
  let server: TestPostgres;
  let db: Db;

  beforeAll(async () => {
    server = await (start as NonNullable<typeof start>)();
    const pool = new pg.Pool({ connectionString: server.url, max: 1, pipeline: true });
    db = new Kysely({ dialect: new PostgresDialect({ pool: preparing(pool) }) });
    await sql`create table things (id text primary key, size int not null)`.execute(db);
    await sql`insert into things values ('a', 1)`.execute(db);
  });
  afterAll(async () => {
    await db?.destroy();
    await server?.stop();
  });

  const thing = (on: Db) => sql`select * from things where id = ${"a"}`.execute(on).then(({ rows }) => rows);
  const prepared = async (): Promise<number> => {
    const { rows } = await sql<{ n: string }>`
      select count(*) as n from pg_prepared_statements where statement like 'select * from things%'`.execute(db);
    return Number(rows[0]?.n);
  };

  it("prepares what is said often, once", async () => {
    for (let i = 0; i < 4; i += 1) await thing(db);
    expect(await prepared()).toBe(0);
    for (let i = 0; i < 10; i += 1) expect(await thing(db)).toEqual([{ id: "a", size: 1 }]);
    expect(await prepared()).toBe(1);
  });

  it("goes on when a later version changes a table under it", async () => {
    for (let i = 0; i < 6; i += 1) await thing(db);
    await sql`alter table things add column colour text`.execute(db);
    expect(await thing(db)).toEqual([{ id: "a", size: 1, colour: null }]);
  });

  it("goes on in a transaction too, which runs again", async () => {
    for (let i = 0; i < 6; i += 1) await thing(db);
    await sql`alter table things add column weight int`.execute(db);
    const onRetry = vi.fn();
    const options = { readOnly: true, signal: new AbortController().signal, onRetry };
    expect(await inTransaction(db, options, thing)).toEqual([{ id: "a", size: 1, colour: null, weight: null }]);
    expect(onRetry).toHaveBeenCalledOnce();
  });

  it("says what is wrong with a statement that it has prepared", async () => {
    const insert = () => sql`insert into things (id, size) values (${"b"}, ${2})`.execute(db);
    await insert();
    for (let i = 0; i < 8; i += 1) await expect(insert()).rejects.toMatchObject({ code: "23505" });
  });
});
