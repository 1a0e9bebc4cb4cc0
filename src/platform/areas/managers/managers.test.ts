import { describe, expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase(
  "managers",
  (world) => {
    const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
    const create = async (key: string, region = "eu-west-1") =>
      world.call("POST", "/v1/managers", { key, body: { name: "our manager", cloud: "aws", region, shared: true } });

    async function bootstrapped() {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      const setup = (await create(admin)).body;
      const path = `/v1/managers/${setup.managerId}`;
      const runtime = (await world.call("POST", `${path}/bootstrap`, { key: setup.setupToken })).body;
      return { workspace, admin, setup, path, runtime };
    }

    it("a manager goes from pending to active by its setup token and its first heartbeat", async () => {
      const { admin, path, runtime, setup } = await bootstrapped();
      expect(runtime).toMatchObject({ managerId: setup.managerId, keyInfo: { role: "manager.runtime" } });
      expect((await world.call("GET", path, { key: admin })).body).toMatchObject({
        setupStatus: "provisioning",
        status: "unknown",
        url: null,
        targets: ["aws", "kubernetes", "machines"],
      });
      const answer = await world.call("POST", `${path}/heartbeat`, { key: runtime.apiKey, body: beat });
      expect(answer.body).toEqual({ acknowledged: true, timestamp: expect.any(String) });
      expect((await world.call("GET", path, { key: admin })).body).toMatchObject({
        setupStatus: "active",
        status: "healthy",
        url: "https://manager.example.com",
      });
      const spent = await world.call("POST", `${path}/bootstrap`, { key: setup.setupToken });
      expect(spent.body.code).toBe("API_KEY_REVOKED");
    });

    it("a second bootstrap takes back the key of the first", async () => {
      const { path, runtime, setup } = await bootstrapped();
      const again = await world.call("POST", `${path}/bootstrap`, { key: setup.setupToken });
      expect(again.status).toBe(201);
      const whoami = (key: string) => world.call("GET", "/v1/whoami", { key });
      expect((await whoami(runtime.apiKey)).body.code).toBe("API_KEY_REVOKED");
      expect((await whoami(again.body.apiKey)).status).toBe(200);
    });

    it("a setup token opens no other manager", async () => {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      const one = (await create(admin)).body;
      const other = (await create(admin, "us-east-1")).body;
      const answer = await world.call("POST", `/v1/managers/${other.managerId}/bootstrap`, { key: one.setupToken });
      expect(answer.status).toBe(404);
    });

    it("there is one private manager a cloud and region", async () => {
      const admin = await (await world.workspace()).key("workspace.admin");
      await create(admin);
      expect((await create(admin)).body.code).toBe("MANAGER_EXISTS");
      expect((await create(admin, "us-east-1")).status).toBe(201);
    });

    it("a new setup token takes the place of the old one, and cancelling removes the record", async () => {
      const admin = await (await world.workspace()).key("workspace.admin");
      const first = (await create(admin)).body;
      const path = `/v1/managers/${first.managerId}`;
      const second = (await world.call("POST", `${path}/setup-token`, { key: admin })).body;
      expect(second.setupToken).not.toBe(first.setupToken);
      expect((await world.call("POST", `${path}/bootstrap`, { key: first.setupToken })).body.code).toBe(
        "API_KEY_REVOKED",
      );
      expect((await world.call("POST", `${path}/retry`, { key: admin })).body).toMatchObject({ mode: "setup" });
      expect((await world.call("POST", `${path}/cancel-setup`, { key: admin })).status).toBe(202);
      expect((await world.call("GET", path, { key: admin })).status).toBe(404);
    });

    it("a setup that deployments wait for is not cancelled; deleted ones do not hold it up", async () => {
      const site = await newSite(world);
      const { managerId } = (await create(site.admin)).body;
      const deployment = await site.deploy("waiting", { managerId });
      const cancel = () => world.call("POST", `/v1/managers/${managerId}/cancel-setup`, { key: site.admin });
      expect((await cancel()).body).toMatchObject({ code: "INVALID_STATE_TRANSITION", context: { deployments: 1 } });
      await site.call("POST", `/v1/deployments/${deployment}/delete`, { body: { action: "forget" } });
      expect((await cancel()).status).toBe(202);
      expect((await site.call("GET", `/v1/deployments/${deployment}`)).body.managerId).toBeUndefined();
    });

    it("a setup that a project waits for is not cancelled", async () => {
      const site = await newSite(world);
      const { managerId } = (await create(site.admin)).body;
      const setDefault = (aws: string | null) =>
        site.call("PATCH", `/v1/projects/${site.project.id}`, { body: { defaultManagers: { aws } } });
      expect((await setDefault(managerId)).status).toBe(200);
      const cancel = () => world.call("POST", `/v1/managers/${managerId}/cancel-setup`, { key: site.admin });
      expect((await cancel()).body).toMatchObject({
        code: "INVALID_STATE_TRANSITION",
        context: { defaultOfProjects: 1 },
      });
      await setDefault(null);
      expect((await cancel()).status).toBe(202);
    });

    it("a manager that failed can be set up anew, and that setup cancelled, its runtime key too", async () => {
      const { admin, path, runtime } = await bootstrapped();
      const cancel = () => world.call("POST", `${path}/cancel-setup`, { key: admin });
      world.clock.advance(61 * 60_000);
      expect((await cancel()).body).toMatchObject({ code: "INVALID_STATE_TRANSITION", context: { from: "failed" } });
      expect((await world.call("POST", `${path}/setup-token`, { key: admin })).body.setupStatus).toBe("pending");
      expect((await cancel()).status).toBe(202);
      expect((await world.call("GET", "/v1/whoami", { key: runtime.apiKey })).body.code).toBe("API_KEY_REVOKED");
      expect((await world.call("GET", path, { key: admin })).status).toBe(404);
    });

    it("a manager that never speaks has failed after an hour, and can be tried again", async () => {
      const { admin, path } = await bootstrapped();
      world.clock.advance(61 * 60_000);
      expect((await world.call("GET", path, { key: admin })).body.setupStatus).toBe("failed");
      const retried = await world.call("POST", `${path}/retry`, { key: admin });
      expect(retried.body).toMatchObject({ mode: "deployment", setupStatus: "provisioning" });
      expect((await world.call("GET", path, { key: admin })).body.setupStatus).toBe("provisioning");
    });

    it("a deleting manager may still speak; its silence ends it and its keys", async () => {
      const { admin, path, runtime } = await bootstrapped();
      const speak = () => world.call("POST", `${path}/heartbeat`, { key: runtime.apiKey, body: beat });
      await speak();
      expect((await world.call("DELETE", path, { key: admin })).status).toBe(202);
      expect((await speak()).status).toBe(200);
      expect((await world.call("GET", path, { key: admin })).body.setupStatus).toBe("deleting");
      world.clock.advance(181_000);
      expect((await world.call("GET", path, { key: admin })).body.setupStatus).toBe("deleted");
      expect((await world.call("GET", "/v1/managers", { key: admin })).body).toEqual([]);
      await world.platform.sweep();
      expect((await speak()).body.code).toBe("API_KEY_REVOKED");
    });

    it("a manager that its silence has ended does not come back in the minute before its keys go", async () => {
      const { admin, path, runtime, setup } = await bootstrapped();
      const speak = () => world.call("POST", `${path}/heartbeat`, { key: runtime.apiKey, body: beat });
      await speak();
      await world.call("DELETE", path, { key: admin });
      // Not by the clock, which would let the platform's own sweep run.
      const then = new Date(world.clock.wallNow().getTime() - 600_000);
      const silent = { setup_changed_at: then, last_heartbeat_at: then };
      await world.platform.db.updateTable("managers").set(silent).where("id", "=", setup.managerId).execute();
      expect((await speak()).body.code).toBe("API_KEY_REVOKED");
      expect((await world.call("GET", path, { key: admin })).body.setupStatus).toBe("deleted");
    });

    it("ninety days later a deleted manager's record goes, though deployments it served are kept longer", async () => {
      const { workspace, admin, path, runtime, setup } = await bootstrapped();
      await world.call("POST", `${path}/heartbeat`, { key: runtime.apiKey, body: beat });
      const body = { name: `shop-${workspace.name}` };
      await world.call("POST", "/v1/projects", { key: admin, body });
      const group = { name: "group", project: body.name, maxDeployments: 1 };
      const { id } = (await world.call("POST", "/v1/deployment-groups", { key: admin, body: group })).body;
      const wanted = { name: "served", platform: "kubernetes", project: body.name, deploymentGroupId: id };
      const { deployment } = (
        await world.call("POST", "/v1/deployments", { key: admin, body: { ...wanted, managerId: setup.managerId } })
      ).body;
      const where = { key: admin, query: { project: body.name } };
      const commands = [{ command: "kubernetes/get-pods", summary: "Look", params: { namespace: "shop" } }];
      const plan = { deploymentId: deployment.id, remediationPlanId: "incident-7", title: "Look", commands };
      const requested = await world.call("POST", "/v1/access-requests", { ...where, body: plan });
      expect(requested.status, JSON.stringify(requested.body)).toBe(201);
      await world.call("POST", `/v1/deployments/${deployment.id}/delete`, { key: admin, body: { action: "forget" } });
      expect((await world.call("DELETE", path, { key: admin })).status).toBe(202);
      world.clock.advance(181_000);
      await world.platform.sweep();
      world.clock.advance(91 * 86_400_000);
      await world.platform.sweep();
      expect((await world.call("GET", path, { key: admin })).status).toBe(404);
      const request = await world.call("GET", `/v1/access-requests/${requested.body.id}`, where);
      expect(request.status).toBe(200);
    });

    it.each([
      ["http://manager.example.com", 400],
      ["http://127.0.0.1:9000", 200],
      ["ftp://manager.example.com", 400],
      ["https://", 400],
    ])("a heartbeat from %s is answered %i", async (url, status) => {
      const { path, runtime } = await bootstrapped();
      const answer = await world.call("POST", `${path}/heartbeat`, { key: runtime.apiKey, body: { ...beat, url } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    });

    it("a setup method must fit the cloud", async () => {
      const admin = await (await world.workspace()).key("workspace.admin");
      const body = { name: "our manager", cloud: "azure", region: "westeurope", setupMethod: "cloudformation" };
      const answer = await world.call("POST", "/v1/managers", { key: admin, body });
      expect(answer.body).toMatchObject({ code: "SETUP_METHOD_NOT_ALLOWED", context: { allowed: ["terraform"] } });
    });

    it("system managers are seen by every workspace, after its own, and changed by none", async () => {
      const system = await world.platform.bootstrap.systemManager({ name: `shared` });
      const admin = await (await world.workspace()).key("workspace.admin");
      await create(admin);
      const list = (await world.call("GET", "/v1/managers", { key: admin })).body as { isSystem: boolean }[];
      expect(list.map(({ isSystem }) => isSystem)).toEqual([false, ...list.slice(1).map(() => true)]);
      const answer = await world.call("DELETE", `/v1/managers/${system.id}`, { key: admin });
      expect(answer.body.code).toBe("INVALID_STATE_TRANSITION");
      expect((await world.call("GET", "/v1/whoami", { key: system.key })).body.workspaceName).toBe("sallyport-system");
    });

    describe("the work feed", () => {
      it("is empty with a usable cursor when nothing is there", async () => {
        const { path, runtime } = await bootstrapped();
        const first = await world.call("GET", `${path}/work`, { key: runtime.apiKey });
        expect(first.body).toEqual({ cursor: expect.any(String), topics: [] });
        const query = { cursor: first.body.cursor };
        expect((await world.call("GET", `${path}/work`, { key: runtime.apiKey, query })).body.topics).toEqual([]);
      });

      it("takes any cursor that it did not write for none", async () => {
        const { path, runtime } = await bootstrapped();
        for (const cursor of ["x", "e30.e30", "..", "1:2:3"]) {
          expect((await world.call("GET", `${path}/work`, { key: runtime.apiKey, query: { cursor } })).status).toBe(
            200,
          );
        }
      });

      it("ends a held poll when its key is revoked", async () => {
        const { admin, path, runtime } = await bootstrapped();
        const first = await world.call("GET", `${path}/work`, { key: runtime.apiKey });
        // Its use is written once a minute, and tells that the poll has been let in.
        const used = async () => (await world.call("GET", `/v1/api-keys/${runtime.keyInfo.id}`, { key: admin })).body;
        const { lastUsedAt } = await used();
        world.clock.advance(61_000);
        // Its 30 s never end, so that only the key can end it.
        world.clock.hold();
        const held = world.call("GET", `${path}/work`, {
          key: runtime.apiKey,
          query: { cursor: first.body.cursor, wait: 30 },
        });
        await expect.poll(async () => (await used()).lastUsedAt).not.toBe(lastUsedAt);
        await world.call("DELETE", `/v1/api-keys/${runtime.keyInfo.id}`, { key: admin });
        expect((await held).status).toBe(200);
      });
    });
  },
  OWN_PLATFORM,
);
