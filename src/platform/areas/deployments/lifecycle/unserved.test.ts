import { sql } from "kysely";
import { expect, it } from "vitest";
import { serveManager } from "../../../administration/manager-administration.ts";
import { onEachDatabase } from "../../../testing/harness.ts";
import { newVendor, type Vendor } from "../../managers/testing/customers.ts";
import { beat } from "../testing/site.ts";
import { AT_ONCE } from "./waiting.ts";

onEachDatabase("a deployment that its manager serves no longer", (world) => {
  const patch = (vendor: Vendor, managerId: string, body: object) =>
    vendor.as(vendor.admin, "PATCH", `/v1/managers/${managerId}`, body);
  const read = async (vendor: Vendor, id: string) => {
    const { body } = await vendor.as(vendor.admin, "GET", `/v1/deployments/${id}`);
    return [body.managerId, body.waitsFor];
  };

  it("is not given back by a sweep that read whom the manager serves before an admin changed it", async () => {
    // The embedded database has one connection: nothing races there.
    if (world.database !== "PostgreSQL") return;
    const vendor = await newVendor(world);
    const { token, groupId } = await vendor.group("customer");
    const other = await vendor.group("other");
    const { id } = await vendor.deploy(token, "shop");
    const manager = await vendor.workspace.manager({});
    await beat(world, manager);
    const { db } = world.platform;
    await db.updateTable("managers").set({ deployment_group_id: groupId }).where("id", "=", manager.id).execute();
    let sweep = Promise.resolve();
    await db.transaction().execute(async (blocker) => {
      // The sweep has chosen the manager when it comes to write the event.
      await sql`lock table events in exclusive mode`.execute(blocker);
      sweep = world.platform.sweep();
      const waits = sql<{ waits: boolean }>`
        select exists (select from pg_locks where not granted and relation = 'events'::regclass) as waits`;
      await expect.poll(async () => (await waits.execute(db)).rows[0]?.waits).toBe(true);
      const changed = await patch(vendor, manager.id, { deploymentGroupId: other.groupId });
      expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    });
    await sweep;
    expect(await read(vendor, id)).toEqual([undefined, "manager"]);
  });

  it("is taken from the manager by the sweep, whatever wrote the row", async () => {
    const vendor = await newVendor(world);
    const { token, groupId, manager } = await vendor.customer("customer");
    const { id } = await vendor.deploy(token, "shop");
    const { db } = world.platform;
    await db.updateTable("managers").set({ deployment_group_id: null }).where("id", "=", manager.id).execute();
    await world.platform.sweep();
    expect(await read(vendor, id)).toEqual([undefined, "manager"]);
    await patch(vendor, manager.id, { deploymentGroupId: groupId });
    expect(await read(vendor, id)).toEqual([manager.id, undefined]);
  });

  it("of the server's own command is found in a transaction as a request has it", async () => {
    // The embedded database begins its transactions plainly.
    if (world.database !== "PostgreSQL") return;
    const vendor = await newVendor(world);
    const { manager } = await vendor.customer("customer");
    const { db } = world.platform;
    await sql`create table isolation (level text)`.execute(db);
    await sql`
      create function note_isolation() returns trigger language plpgsql as $$ begin
        insert into isolation values (current_setting('transaction_isolation')); return new; end $$`.execute(db);
    await sql`
      create trigger note_isolation before update on managers for each row execute function note_isolation()`.execute(
      db,
    );
    await serveManager(db, world.clock, manager.id, { shared: true });
    await sql`drop trigger note_isolation on managers`.execute(db);
    const { rows } = await sql`select * from isolation`.execute(db);
    expect(rows).toEqual([{ level: "serializable" }]);
  });

  it("waits from the request on among the first, the others from the next sweep on, out of reach meanwhile", async () => {
    const vendor = await newVendor(world);
    const { token, manager } = await vendor.customer("customer");
    const { id } = await vendor.deploy(token, "shop");
    const { db } = world.platform;
    // Copies, with ids before its own: the request takes the one that has a debug session all the same.
    const copies = 2 * AT_ONCE;
    await db.transaction().execute(async (one) => {
      await sql`create temporary table copies on commit drop as select * from deployments where id = ${id}`.execute(
        one,
      );
      for (let n = 0; n < copies; n += 1) {
        await sql`update copies set id = ${`dep_${String(n).padStart(28, "0")}`}, name = ${`copy-${n}`}`.execute(one);
        await sql`insert into deployments select * from copies`.execute(one);
      }
    });
    const expiresAt = new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString();
    const opened = await vendor.as(manager.key, "POST", "/v1/debug-sessions", { deploymentId: id, expiresAt });
    expect(opened.status).toBe(201);
    const named = async () => {
      const rows = await db.selectFrom("deployments").select("id").where("manager_id", "=", manager.id).execute();
      return rows.map((row) => row.id);
    };
    await patch(vendor, manager.id, { deploymentGroupId: null });
    const left = await named();
    expect([left.length, left.includes(id)]).toEqual([copies + 1 - AT_ONCE, false]);
    const session = await vendor.as(vendor.admin, "GET", `/v1/debug-sessions/${opened.body.id}`);
    expect(session.body).toMatchObject({ state: "stopping", closeReason: "revoked" });
    const context = await vendor.as(manager.key, "POST", "/v1/sync/context", { deploymentId: left[0] });
    expect(context.body.code).toBe("NOT_FOUND");
    const acquired = await vendor.as(manager.key, "POST", "/v1/sync/acquire", {
      ...{ session: "s", requestId: "r", deploymentModel: "pull" },
    });
    expect(acquired.body.deployments).toEqual([]);
    expect((await vendor.as(vendor.admin, "DELETE", `/v1/managers/${manager.id}`)).body.code).toBe("MANAGER_IN_USE");
    await world.platform.sweep();
    expect(await named()).toEqual([]);
    expect(await read(vendor, left[0] ?? "")).toEqual([undefined, "manager"]);
  });

  it("waits like a new one when the manager is deleted", async () => {
    const vendor = await newVendor(world);
    const { token, groupId, manager } = await vendor.customer("customer");
    const { id } = await vendor.deploy(token, "shop");
    await patch(vendor, manager.id, { deploymentGroupId: null });
    const second = await vendor.workspace.manager({ deploymentGroupId: groupId });
    await beat(world, second);
    await world.platform.sweep();
    expect(await read(vendor, id)).toEqual([undefined, "manager"]);
    expect((await vendor.as(vendor.admin, "DELETE", `/v1/managers/${manager.id}`)).status).toBe(202);
    await world.platform.sweep();
    expect(await read(vendor, id)).toEqual([second.id, undefined]);
  });
});
