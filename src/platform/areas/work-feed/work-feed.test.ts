import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { readChanges } from "./store.ts";

onEachDatabase("the work feed", (world) => {
  const deployment = (n: number): string => `dep_${String(n).padStart(28, "0")}`;
  const raise = async (managerId: string, from: number, to: number): Promise<void> => {
    const { db } = world.platform;
    const rows = Array.from({ length: to - from }, (_, i) => ({
      manager_id: managerId,
      topic: "commands" as const,
      deployment_id: deployment(from + i),
      xid: sql`pg_current_xact_id()`,
    }));
    const again = { xid: sql`pg_current_xact_id()` };
    await db
      .insertInto("work_feed")
      .values(rows)
      .onConflict((oc) => oc.columns(["manager_id", "topic", "deployment_id"]).doUpdateSet(again))
      .execute();
  };

  it("is walked in pages of 500, and what is raised behind the walk comes after it", async () => {
    const manager = await (await world.workspace()).manager();
    const work = async (cursor?: string) =>
      (
        await world.call("GET", `/v1/managers/${manager.id}/work`, {
          key: manager.key,
          query: cursor === undefined ? {} : { cursor },
        })
      ).body;
    const start = await work();
    await raise(manager.id, 0, 1200);
    const first = await work(start.cursor);
    await raise(manager.id, 3, 4);
    const second = await work(first.cursor);
    const third = await work(second.cursor);
    const fourth = await work(third.cursor);
    expect([first, second, third].map(({ topics }) => topics.length)).toEqual([500, 500, 200]);
    const walked = [first, second, third].flatMap(({ topics }) =>
      topics.map((each: { deploymentId: string }) => each.deploymentId),
    );
    expect(new Set(walked).size).toBe(1200);
    expect(fourth.topics).toEqual([{ topic: "commands", deploymentId: deployment(3) }]);
    expect((await work(fourth.cursor)).topics).toEqual([]);
  });

  it("answers a poll that was held for all of its 30 s", async () => {
    const manager = await (await world.workspace()).manager();
    const path = `/v1/managers/${manager.id}/work`;
    const { cursor } = (await world.call("GET", path, { key: manager.key })).body;
    let answered = false;
    const held = world.call("GET", path, { key: manager.key, query: { cursor, wait: 30 } }).finally(() => {
      answered = true;
    });
    const passTime = async (): Promise<void> => {
      while (!answered) {
        world.clock.advance(1_000);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const [{ status, body }] = await Promise.all([held, passTime()]);
    expect([status, body.topics]).toEqual([200, []]);
  });

  it("raised a thousand times is one row", async () => {
    const { id } = await (await world.workspace()).manager();
    for (let i = 0; i < 20; i += 1) await raise(id, 0, 1);
    const rows = await world.platform.db.selectFrom("work_feed").selectAll().where("manager_id", "=", id).execute();
    expect(rows).toHaveLength(1);
  });

  it("shows a change that began before a reading and commits after it to the next reading", async () => {
    const { id } = await (await world.workspace()).manager();
    const { db } = world.platform;
    const first = await readChanges(db, id, "1:1:", undefined, 10);
    const began = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const slow = db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto("work_feed")
        .values({ manager_id: id, topic: "commands", deployment_id: deployment(1), xid: sql`pg_current_xact_id()` })
        .execute();
      began.resolve();
      await go.promise;
    });
    await began.promise;
    const reading = readChanges(db, id, first.snapshot, undefined, 10);
    // The embedded database lends its one connection, so there the reading waits for the commit.
    if (world.database === "PostgreSQL") expect((await reading).work).toEqual([]);
    go.resolve();
    await slow;
    const between = await reading;
    const after = await readChanges(db, id, between.snapshot, undefined, 10);
    expect([...between.work, ...after.work]).toEqual([{ topic: "commands", deploymentId: deployment(1) }]);
  });
});
