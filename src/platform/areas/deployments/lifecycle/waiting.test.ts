import { expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../../testing/harness.ts";
import { newVendor, type Vendor } from "../../managers/testing/customers.ts";
import { beat } from "../testing/site.ts";

onEachDatabase(
  "a deployment that waits for a manager",
  (world) => {
    const managerOf = async (vendor: Vendor, id: string) => {
      const { body } = await vendor.as(vendor.admin, "GET", `/v1/deployments/${id}`);
      return body.waitsFor === "manager" ? "waits" : body.managerId;
    };
    /** Of each event about its manager: which, or that it waits for one. */
    const told = async (vendor: Vendor, id: string) =>
      (await vendor.events(id)).flatMap(({ type, changedKeys, managerId, waitsFor }) =>
        type === "DeploymentEnvironmentUpdated" && changedKeys.includes("managerId") ? [managerId ?? waitsFor] : [],
      );
    const patch = (vendor: Vendor, managerId: string, body: object) =>
      vendor.as(vendor.admin, "PATCH", `/v1/managers/${managerId}`, body);
    const work = async (vendor: Vendor, manager: { id: string; key: string }, cursor?: string) =>
      (
        await vendor.as(
          manager.key,
          "GET",
          `/v1/managers/${manager.id}/work${cursor === undefined ? "" : `?cursor=${cursor}`}`,
        )
      ).body;

    it("says so, and gets the manager of its group with that manager's first heartbeat", async () => {
      const vendor = await newVendor(world);
      const { token, groupId } = await vendor.group("customer");
      const { id } = await vendor.deploy(token, "shop");
      expect(await told(vendor, id)).toEqual(["manager"]);
      const info = await vendor.as(token, "GET", "/v1/deployment-info");
      expect(info.body.readiness).toMatchObject({ status: "notReady" });
      expect(info.body.readiness.checks).toContainEqual(
        expect.objectContaining({
          code: "manager-online",
          status: "failed",
          message: "no manager serves the platform",
        }),
      );
      const manager = await vendor.workspace.manager({ deploymentGroupId: groupId });
      expect(await managerOf(vendor, id)).toBe("waits");
      const { cursor } = await work(vendor, manager);
      await beat(world, manager);
      expect(await managerOf(vendor, id)).toBe(manager.id);
      expect(await told(vendor, id)).toEqual([manager.id, "manager"]);
      expect((await work(vendor, manager, cursor)).topics).toContainEqual({ topic: "deployments", deploymentId: id });
    });

    it("gets a manager that an admin gives to its group, or shares", async () => {
      const vendor = await newVendor(world);
      const manager = await vendor.workspace.manager({});
      await beat(world, manager);
      const groups = [await vendor.group("one"), await vendor.group("two")] as const;
      const ids = await Promise.all(groups.map(async ({ token }) => (await vendor.deploy(token, "shop")).id));
      const where = async () => Promise.all(ids.map((id) => managerOf(vendor, id)));
      expect(await where()).toEqual(["waits", "waits"]);
      expect((await patch(vendor, manager.id, { deploymentGroupId: groups[0].groupId })).body).toMatchObject({
        deploymentGroupId: groups[0].groupId,
        shared: false,
        managedDeploymentCount: 1,
      });
      expect(await where()).toEqual([manager.id, "waits"]);
      expect((await patch(vendor, manager.id, { shared: true })).body).toMatchObject({
        deploymentGroupId: null,
        shared: true,
      });
      expect(await where()).toEqual([manager.id, manager.id]);
    });

    it("waits from the moment that its manager serves it no longer, and gets that one back, no other", async () => {
      const vendor = await newVendor(world);
      const { token, groupId, manager } = await vendor.customer("customer");
      const { id } = await vendor.deploy(token, "shop");
      const acquired = await vendor.as(manager.key, "POST", "/v1/sync/acquire", {
        ...{ session: "s", requestId: "r", deploymentModel: "pull" },
      });
      expect(acquired.body.deployments).toMatchObject([{ deploymentId: id }]);
      const expiresAt = new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString();
      const opened = await vendor.as(manager.key, "POST", "/v1/debug-sessions", { deploymentId: id, expiresAt });
      const { cursor } = await work(vendor, manager);
      const other = await vendor.group("other");
      await patch(vendor, manager.id, { deploymentGroupId: other.groupId });
      expect(await managerOf(vendor, id)).toBe("waits");
      expect((await work(vendor, manager, cursor)).topics).toEqual([{ topic: "deployments", deploymentId: id }]);
      for (const path of ["context", "release"]) {
        const body = { deploymentId: id, ...(path === "release" && { session: "s" }) };
        expect((await vendor.as(manager.key, "POST", `/v1/sync/${path}`, body)).body.code).toBe("NOT_FOUND");
      }
      const session = await vendor.as(vendor.admin, "GET", `/v1/debug-sessions/${opened.body.id}`);
      expect(session.body).toMatchObject({ state: "stopping", closeReason: "revoked" });
      const shared = await vendor.workspace.manager();
      await beat(world, shared);
      await world.platform.sweep();
      expect(await managerOf(vendor, id)).toBe("waits");
      await patch(vendor, manager.id, { deploymentGroupId: groupId });
      expect(await managerOf(vendor, id)).toBe(manager.id);
      expect(await told(vendor, id)).toEqual([manager.id, "manager"]);
    });

    it("is moved by an admin to another manager of its group, and by the sweep when there are many", async () => {
      const vendor = await newVendor(world);
      const { token, groupId, manager } = await vendor.customer("customer");
      const first = await vendor.deploy(token, "shop-0");
      await patch(vendor, manager.id, { deploymentGroupId: null });
      const second = await vendor.workspace.manager({ deploymentGroupId: groupId });
      await beat(world, second);
      expect(await managerOf(vendor, first.id)).toBe("waits");
      const moved = await vendor.as(vendor.admin, "PATCH", `/v1/deployments/${first.id}`, { managerId: second.id });
      expect([moved.status, moved.body.managerId]).toEqual([200, second.id]);
      await patch(vendor, second.id, { shared: false, deploymentGroupId: null });
      const ids = [];
      for (let n = 1; n <= 3; n += 1) ids.push((await vendor.deploy(token, `shop-${n}`)).id);
      // As a manager's column is written where no request sees it.
      const { db } = world.platform;
      await db.updateTable("managers").set({ deployment_group_id: groupId }).where("id", "=", manager.id).execute();
      await world.platform.sweep();
      for (const id of ids) expect(await managerOf(vendor, id)).toBe(manager.id);
      expect(await managerOf(vendor, first.id)).toBe("waits");
    });

    it("waits when its group's manager goes with the group", async () => {
      const vendor = await newVendor(world);
      const { groupId, manager } = await vendor.customer("leaving");
      expect((await vendor.as(vendor.admin, "DELETE", `/v1/deployment-groups/${groupId}`)).status).toBeLessThan(300);
      const read = await vendor.as(vendor.admin, "GET", `/v1/managers/${manager.id}`);
      expect(read.body).toMatchObject({ deploymentGroupId: null, shared: false });
      const { token } = await vendor.group("coming");
      expect((await vendor.deploy(token, "shop")).managerId).toBeNull();
    });

    it("is not given a manager of another platform, or one that is on its way out", async () => {
      const vendor = await newVendor(world);
      const { token, groupId, manager } = await vendor.customer("customer");
      expect((await vendor.deploy(token, "cloud", { platform: "aws" })).managerId).toBeNull();
      expect((await vendor.as(vendor.admin, "DELETE", `/v1/managers/${manager.id}`)).status).toBe(202);
      expect((await vendor.deploy(token, "late")).managerId).toBeNull();
      const again = await patch(vendor, manager.id, { deploymentGroupId: groupId });
      expect(again.body).toMatchObject({ code: "INVALID_STATE_TRANSITION", context: { from: "deleting" } });
    });
  },
  OWN_PLATFORM,
);

onEachDatabase(
  "whom a manager serves",
  (world) => {
    const create = (vendor: Vendor, body: object) =>
      vendor.as(vendor.admin, "POST", "/v1/managers", { name: "ours", cloud: "aws", region: "eu-west-1", ...body });

    const serve = (vendor: Vendor, id: string, body: object) =>
      vendor.as(vendor.admin, "PATCH", `/v1/managers/${id}`, body);

    it("is one group, or all, or nobody; one of each a cloud and region", async () => {
      const vendor = await newVendor(world);
      const [one, two] = [await vendor.group("one"), await vendor.group("two")];
      const both = await create(vendor, { deploymentGroupId: one.groupId, shared: true });
      expect([both.status, both.body.context.issues]).toMatchObject([400, [{ path: "body.shared" }]]);
      const elsewhere = await (await newVendor(world)).group("elsewhere");
      expect((await create(vendor, { deploymentGroupId: elsewhere.groupId })).body.code).toBe("NOT_FOUND");
      const first = (await create(vendor, { deploymentGroupId: one.groupId })).body.managerId;
      const taken = { code: "MANAGER_EXISTS", context: { managerId: first }, hint: expect.stringContaining(first) };
      expect((await create(vendor, { deploymentGroupId: one.groupId })).body).toMatchObject(taken);
      const second = (await create(vendor, { deploymentGroupId: two.groupId })).body.managerId;
      expect((await create(vendor, {})).status).toBe(201);
      expect((await create(vendor, {})).body.code).toBe("MANAGER_EXISTS");
      const path = `/v1/managers/${second}`;
      const patch = (body: object) => serve(vendor, second, body);
      expect((await patch({ deploymentGroupId: one.groupId })).body).toMatchObject(taken);
      expect((await patch({ deploymentGroupId: elsewhere.groupId })).body.code).toBe("NOT_FOUND");
      expect((await patch({ deploymentGroupId: one.groupId, shared: true })).body.code).toBe("VALIDATION_ERROR");
      expect((await patch({})).body.deploymentGroupId).toBe(two.groupId);
      const member = await vendor.workspace.key("workspace.member");
      expect((await vendor.as(member, "PATCH", path, { shared: true })).body.code).toBe("FORBIDDEN");
    });

    it("is no customer whenever an admin says so, whatever else stands there", async () => {
      const vendor = await newVendor(world);
      const { groupId } = await vendor.group("one");
      const own = (await create(vendor, { deploymentGroupId: groupId })).body.managerId;
      const shared = (await create(vendor, { shared: true })).body.managerId;
      expect((await create(vendor, {})).status).toBe(201);
      const nothing = { deploymentGroupId: null, shared: false };
      expect(await serve(vendor, own, nothing)).toMatchObject({ status: 200, body: nothing });
      const second = await serve(vendor, own, { shared: true });
      expect(second.body).toMatchObject({ code: "MANAGER_EXISTS", context: { managerId: shared } });
      for (const id of [shared, own]) expect((await serve(vendor, id, nothing)).status).toBe(200);
      expect((await serve(vendor, own, { shared: true })).status).toBe(200);
    });

    it("is everybody for a system manager, and nobody's to change", async () => {
      const system = await world.platform.bootstrap.systemManager({ name: "all", targets: ["gcp"] });
      await beat(world, system);
      const vendor = await newVendor(world);
      const { token } = await vendor.group("customer");
      expect((await vendor.deploy(token, "shop", { platform: "gcp" })).managerId).toBe(system.id);
      const changed = await vendor.as(vendor.admin, "PATCH", `/v1/managers/${system.id}`, { shared: true });
      expect(changed.body).toMatchObject({ code: "INVALID_STATE_TRANSITION", context: { from: "system" } });
    });

    it("is what resolve answers: to a group its own, to a project what all of its groups get", async () => {
      const vendor = await newVendor(world);
      const one = await vendor.customer("one");
      const two = await vendor.group("two");
      const resolve = async (key: string, query: object = {}) => {
        const all = { platform: "kubernetes", ...query };
        const { body } = await world.call("GET", "/v1/resolve", { key, query: all });
        return body.managerId ?? body.code;
      };
      const developer = await vendor.workspace.key("project.developer", {
        type: "project",
        projectId: vendor.project.id,
      });
      expect(await resolve(one.token)).toBe(one.manager.id);
      expect(await resolve(two.token)).toBe("MANAGER_NOT_AVAILABLE");
      expect(await resolve(two.token, { deploymentGroup: one.groupId })).toBe("NOT_FOUND");
      expect(await resolve(developer)).toBe("MANAGER_NOT_AVAILABLE");
      expect(await resolve(developer, { deploymentGroup: "one" })).toBe(one.manager.id);
      expect(await resolve(developer, { deploymentGroup: two.groupId })).toBe("MANAGER_NOT_AVAILABLE");
      const shared = await vendor.workspace.manager();
      await beat(world, shared);
      expect(await resolve(developer)).toBe(shared.id);
      expect(await resolve(two.token)).toBe(shared.id);
      expect(await resolve(one.token)).toBe(one.manager.id);
      // The project's default counts where it serves.
      const project = { defaultManagers: { kubernetes: one.manager.id } };
      expect((await vendor.as(vendor.admin, "PATCH", `/v1/projects/${vendor.project.id}`, project)).status).toBe(200);
      expect(await resolve(two.token)).toBe(shared.id);
      expect(await resolve(developer)).toBe(shared.id);
      const deployment = await vendor.deploy(two.token, "shop");
      expect(await resolve(deployment.token)).toBe(shared.id);
    });
  },
  OWN_PLATFORM,
);
