import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { Lane } from "./lane.ts";
import { inTransaction } from "./transaction.ts";

onEachDatabase("a transaction", (world) => {
  const options = { signal: new AbortController().signal, onRetry: () => undefined };

  it("of a reading call refuses to write", async () => {
    const { id } = await world.workspace();
    const write = inTransaction(world.platform.db, { ...options, readOnly: true }, (db) =>
      db.updateTable("workspaces").set({ name: "changed" }).where("id", "=", id).execute(),
    );
    await expect(write).rejects.toMatchObject({ code: "25006" });
  });

  it("whose request has ended is rolled back", async () => {
    const { id } = await world.workspace();
    const ended = new AbortController();
    const late = inTransaction(world.platform.db, { ...options, readOnly: false, signal: ended.signal }, async (db) => {
      await db.updateTable("workspaces").set({ name: "late" }).where("id", "=", id).execute();
      ended.abort(new Error("too late"));
    });
    await expect(late).rejects.toThrow("too late");
    const row = await world.platform.db.selectFrom("workspaces").select("name").where("id", "=", id).executeTakeFirst();
    expect(row?.name).not.toBe("late");
  });

  it("that lost a race runs again from its start", async () => {
    const { id } = await world.workspace();
    const { db } = world.platform;
    const add = () =>
      inTransaction(db, { ...options, readOnly: false }, async (transaction) => {
        const row = await transaction
          .selectFrom("workspaces")
          .select("name")
          .where("id", "=", id)
          .executeTakeFirstOrThrow();
        await transaction
          .updateTable("workspaces")
          .set({ name: `${row.name}x` })
          .where("id", "=", id)
          .execute();
      });
    await Promise.all([add(), add(), add(), add()]);
    const row = await db.selectFrom("workspaces").select("name").where("id", "=", id).executeTakeFirstOrThrow();
    expect(row.name).toMatch(/[^x]xxxx$/);
  });

  it("comes after those who wait for their turn, having lost a race", async () => {
    const { db } = world.platform;
    const line = { lane: new Lane(), key: "a workspace" };
    const [again, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const order: string[] = [];
    const run = (work: () => Promise<void>) => inTransaction(db, { ...options, readOnly: false, line }, work);
    let attempts = 0;
    const loser = run(async () => {
      attempts += 1;
      if (attempts === 1) throw Object.assign(new Error("lost"), { code: "40001" });
      again.resolve();
      await goOn.promise;
      order.push("loser");
    });
    await again.promise;
    const newcomer = run(async () => void order.push("newcomer"));
    expect(line.lane.lengthOf(line.key)).toBe(2);
    goOn.resolve();
    await Promise.all([loser, newcomer]);
    expect(order).toEqual(["loser", "newcomer"]);
  });

  // Only there can a handler wait for a row while the rest of the server goes on.
  it.skipIf(world.database === "PGlite")("that takes 30 s is answered with TIMEOUT and leaves nothing", async () => {
    const manager = await (await world.workspace()).manager();
    const { db } = world.platform;
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holder = db.transaction().execute(async (transaction) => {
      await transaction.selectFrom("managers").select("id").where("id", "=", manager.id).forUpdate().execute();
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const body = { status: "healthy", url: "https://late.example.com", managementConfigs: {} };
    const beat = world.call("POST", `/v1/managers/${manager.id}/heartbeat`, { key: manager.key, body });
    await waitUntil(async () => {
      const waiting = sql<{ n: number }>`select count(*) as n from pg_locks where not granted`;
      return Number((await waiting.execute(db)).rows[0]?.n) > 0;
    });
    world.clock.advance(30_001);
    const answer = await beat;
    expect([answer.status, answer.body.code]).toEqual([504, "TIMEOUT"]);
    release.resolve();
    await holder;
    // The handler's transaction takes the row next and must give it back unchanged; this one queues behind it.
    const row = await db
      .transaction()
      .execute((transaction) =>
        transaction.selectFrom("managers").select("url").where("id", "=", manager.id).forUpdate().executeTakeFirst(),
      );
    expect(row).toEqual({ url: null });
  });
});

async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
