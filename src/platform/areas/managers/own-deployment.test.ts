import { describe, expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";

onEachDatabase(
  "the deployment that a manager runs as",
  (world) => {
    const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
    const ERROR = { code: "PROVISIONING_FAILED", message: "no capacity", internal: false };

    async function bootstrapped(region = "eu-west-1") {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      const body = { name: "our manager", cloud: "aws", region };
      const setup = (await world.call("POST", "/v1/managers", { key: admin, body })).body;
      const path = `/v1/managers/${setup.managerId}`;
      const { apiKey, deploymentId } = (await world.call("POST", `${path}/bootstrap`, { key: setup.setupToken })).body;
      const sync = (route: string, more: object = {}) =>
        world.call("POST", `/v1/sync/${route}`, { key: apiKey, body: { deploymentId, ...more } });
      return {
        workspace,
        admin,
        setup,
        path,
        key: apiKey,
        id: deploymentId,
        sync,
        report: (status: string, error?: object) =>
          sync("reconcile", {
            state: { status, platform: "aws", protocolVersion: 1, ...(error !== undefined && { error }) },
          }),
        acquire: (more: object = { deploymentIds: [deploymentId] }) =>
          world.call("POST", "/v1/sync/acquire", {
            key: apiKey,
            body: { session: "s", requestId: crypto.randomUUID(), deploymentModel: "pull", ...more },
          }),
        setupStatus: async () => (await world.call("GET", path, { key: admin })).body.setupStatus,
        speak: () => world.call("POST", `${path}/heartbeat`, { key: apiKey, body: beat }),
        post: (verb: string) => world.call("POST", `${path}/${verb}`, { key: admin }),
        delete: () => world.call("DELETE", path, { key: admin }),
        read: (as: string) => world.call("GET", `/v1/deployments/${deploymentId}`, { key: as }),
      };
    }

    it("is made for the first managers of a database, however many come at once", async () => {
      const made = await Promise.all(Array.from({ length: 8 }, () => bootstrapped()));
      expect(new Set(made.map(({ id }) => id)).size).toBe(8);
      const statuses = await Promise.all(made.map(({ read, admin }) => read(admin)));
      expect(statuses.map(({ body }) => body.status)).toEqual(made.map(() => "pending"));
    });

    it("is one, and its key is one, when two set it up at once", async () => {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      const body = { name: "our manager", cloud: "aws", region: "eu-west-1" };
      const setup = (await world.call("POST", "/v1/managers", { key: admin, body })).body;
      const path = `/v1/managers/${setup.managerId}/bootstrap`;
      const answers = await Promise.all([1, 2, 3].map(() => world.call("POST", path, { key: setup.setupToken })));
      expect(new Set(answers.map((each) => each.body.deploymentId)).size).toBe(1);
      const whoami = (key: string) => world.call("GET", "/v1/whoami", { key });
      const lives = await Promise.all(answers.map((each) => whoami(each.body.apiKey)));
      expect(lives.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it("fails the manager's start when it fails, and is retried with it", async () => {
      const manager = await bootstrapped();
      expect((await manager.report("provisioning-failed", ERROR)).status).toBe(200);
      expect(await manager.setupStatus()).toBe("failed");
      expect((await manager.read(manager.admin)).body).toMatchObject({ status: "provisioning-failed", error: ERROR });
      const retried = await manager.post("retry");
      expect(retried.body).toMatchObject({ mode: "deployment", deploymentId: manager.id, setupStatus: "provisioning" });
      expect(await manager.setupStatus()).toBe("provisioning");
      expect((await manager.read(manager.key)).body.retryRequested).toBe(true);
      const { topics } = (await world.call("GET", `${manager.path}/work`, { key: manager.key })).body;
      expect(topics).toEqual([{ topic: "deployments", deploymentId: manager.id }]);
      expect((await manager.acquire()).body.deployments).toMatchObject([
        { deploymentId: manager.id, current: { status: "provisioning", retryRequested: false } },
      ]);
      expect((await manager.report("running")).body.current.status).toBe("running");
      expect(await manager.setupStatus()).toBe("provisioning");
      await manager.speak();
      expect(await manager.setupStatus()).toBe("active");
    });

    it.each(["preflights-failed", "initial-setup-failed", "provisioning-failed"])("at %s too", async (status) => {
      const manager = await bootstrapped();
      await manager.report(status);
      expect(await manager.setupStatus()).toBe("failed");
    });

    it("leaves a manager alone that has started", async () => {
      const manager = await bootstrapped();
      await manager.report("running");
      await manager.speak();
      await manager.report("refresh-failed", ERROR);
      expect(await manager.setupStatus()).toBe("active");
    });

    it("may be an id alone, of a replica of an earlier version: then time decides as it did there", async () => {
      const manager = await bootstrapped();
      await world.platform.db.deleteFrom("deployments").where("id", "=", manager.id).execute();
      world.clock.advance(61 * 60_000);
      expect((await manager.post("retry")).body).toMatchObject({ mode: "deployment", setupStatus: "provisioning" });
      expect((await manager.delete()).status).toBe(202);
      world.clock.advance(181_000);
      expect(await manager.setupStatus()).toBe("deleted");
    });

    it("is no retry when nothing but another setup can help", async () => {
      const manager = await bootstrapped();
      await manager.report("error", ERROR);
      world.clock.advance(61 * 60_000);
      expect(await manager.setupStatus()).toBe("failed");
      expect((await manager.post("retry")).body).toMatchObject({
        code: "INVALID_STATE_TRANSITION",
        context: { from: "error" },
      });
      expect((await manager.post("setup-token")).body.setupStatus).toBe("pending");
    });

    it("is another one after another setup; the one before is over", async () => {
      const manager = await bootstrapped();
      await manager.report("preflights-failed", ERROR);
      const { setupToken } = (await manager.post("setup-token")).body;
      expect((await manager.post("retry")).body.mode).toBe("setup");
      const again = (await manager.post("setup-token")).body.setupToken;
      expect((await manager.read(manager.admin)).status).toBe(404);
      expect((await manager.sync("context")).status).toBe(404);
      expect((await world.call("POST", `${manager.path}/bootstrap`, { key: setupToken })).status).toBe(401);
      const next = (await world.call("POST", `${manager.path}/bootstrap`, { key: again })).body;
      expect(next.deploymentId).not.toBe(manager.id);
      expect(await manager.setupStatus()).toBe("provisioning");
    });

    it("ends the manager and its keys when it is deleted, in the same transaction", async () => {
      const manager = await bootstrapped();
      await manager.report("running");
      await manager.speak();
      expect((await manager.delete()).status).toBe(202);
      expect((await manager.read(manager.key)).body.status).toBe("delete-pending");
      const seen = await world.call("GET", `${manager.path}/work`, { key: manager.key });
      expect(seen.body.topics).toEqual([{ topic: "deployments", deploymentId: manager.id }]);
      expect((await manager.report("deleting")).status).toBe(200);
      expect(await manager.setupStatus()).toBe("deleting");
      expect((await manager.report("deleted")).body.current.status).toBe("deleted");
      expect(await manager.setupStatus()).toBe("deleted");
      expect((await manager.speak()).body.code).toBe("API_KEY_REVOKED");
    });

    it("goes on with a delete that failed when the manager is deleted once more", async () => {
      const manager = await bootstrapped();
      await manager.delete();
      await manager.report("deleting");
      await manager.report("delete-failed", ERROR);
      expect(await manager.setupStatus()).toBe("deleting");
      expect((await manager.delete()).status).toBe(202);
      expect((await manager.read(manager.key)).body.status).toBe("delete-pending");
      await manager.report("teardown-required");
      await manager.report("teardown-failed", ERROR);
      await manager.delete();
      expect((await manager.read(manager.key)).body).toMatchObject({ status: "teardown-failed", retryRequested: true });
    });

    it("is over when the manager's silence has ended it", async () => {
      const manager = await bootstrapped();
      await manager.delete();
      world.clock.advance(181_000);
      await world.platform.sweep();
      expect(await manager.setupStatus()).toBe("deleted");
      expect((await manager.read(manager.admin)).body.status).toBe("deleted");
    });

    it("goes with the manager's record, and so do its group and its project", async () => {
      const manager = await bootstrapped();
      const { db } = world.platform;
      const found = await db
        .selectFrom("managers")
        .select(["internal_project_id as project", "internal_group_id as group"])
        .where("id", "=", manager.setup.managerId)
        .executeTakeFirstOrThrow();
      const rows = async () => [
        ...(await db.selectFrom("projects").select("id").where("id", "=", found.project).execute()),
        ...(await db.selectFrom("deployment_groups").select("id").where("id", "=", found.group).execute()),
        ...(await db.selectFrom("deployments").select("id").where("id", "=", manager.id).execute()),
      ];
      expect(await rows()).toHaveLength(3);
      await manager.report("preflights-failed");
      await manager.post("setup-token");
      expect((await manager.post("cancel-setup")).status).toBe(202);
      expect(await rows()).toEqual([]);
    });

    it("does not keep a workspace from being deleted", async () => {
      const manager = await bootstrapped();
      const user = await world.user();
      await manager.workspace.member(user, "workspace.admin");
      const answer = await world.call("DELETE", `/v1/workspaces/${manager.workspace.id}`, { key: user.token });
      expect(answer.status, JSON.stringify(answer.body)).toBe(204);
      const left = world.platform.db.selectFrom("deployments").select("id").where("id", "=", manager.id);
      expect(await left.execute()).toEqual([]);
    });

    describe("is reached by its id", () => {
      it("by its manager on the routes of sync, which do not show it unasked", async () => {
        const manager = await bootstrapped();
        const unasked = { session: "s", requestId: "r", deploymentModel: "pull" };
        const list = (body: object) => world.call("POST", "/v1/sync/list", { key: manager.key, body });
        expect((await list({})).body).toEqual({ deployments: [] });
        expect((await manager.acquire(unasked)).body.deployments).toEqual([]);
        expect((await list({ deploymentIds: [manager.id] })).body.deployments).toMatchObject([
          { id: manager.id, managerId: manager.setup.managerId, workspaceId: manager.workspace.id, status: "pending" },
        ]);
        expect((await manager.sync("context")).body).toMatchObject({ deploymentId: manager.id });
        expect((await manager.acquire()).body.deployments).toHaveLength(1);
        const held = { session: "s", deploymentIds: [manager.id] };
        const renewed = await world.call("POST", "/v1/sync/renew", { key: manager.key, body: held });
        expect(renewed.body).toMatchObject({ success: true });
        expect((await manager.sync("release", { session: "s" })).body).toEqual({ success: true });
      });

      it("by nobody else's manager", async () => {
        const [manager, other] = [await bootstrapped(), await bootstrapped()];
        for (const key of [other.key, (await world.platform.bootstrap.systemManager({ name: "shared" })).key]) {
          const body = { deploymentIds: [manager.id] };
          expect((await world.call("POST", "/v1/sync/list", { key, body })).body.deployments).toEqual([]);
          const named = { key, body: { deploymentId: manager.id } };
          expect((await world.call("POST", "/v1/sync/context", named)).status).toBe(404);
          expect((await manager.read(key)).status).toBe(404);
        }
      });

      it("by the admins of its workspace, to read: nothing else can be done to it", async () => {
        const manager = await bootstrapped();
        expect((await manager.read(manager.admin)).body).toMatchObject({
          id: manager.id,
          workspaceId: manager.workspace.id,
          status: "pending",
          deploymentModel: "pull",
        });
        const foreign = await (await world.workspace()).key("workspace.admin");
        const member = await manager.workspace.key("workspace.member");
        for (const key of [foreign, member, manager.setup.setupToken]) {
          expect((await manager.read(key)).status).toBe(404);
        }
        const path = `/v1/deployments/${manager.id}`;
        for (const [method, verb, body] of [
          ["PATCH", "", { name: "mine" }],
          ["DELETE", "", undefined],
          ["POST", "/delete", { action: "forget" }],
          ["POST", "/retry", undefined],
          ["POST", "/redeploy", undefined],
          ["POST", "/token", { description: null }],
          ["GET", "/info", undefined],
          ["GET", "/inputs", undefined],
        ] as const) {
          const options = { key: manager.admin, ...(body !== undefined && { body }) };
          expect((await world.call(method, path + verb, options)).status, `${method} ${verb}`).toBe(404);
        }
      });
    });

    it("a manager made by the server's own command has none, and is not set up", async () => {
      const workspace = await world.workspace();
      const admin = await workspace.key("workspace.admin");
      const { id } = await workspace.manager();
      world.clock.advance(61 * 60_000);
      for (const verb of ["setup-token", "retry"]) {
        const answer = await world.call("POST", `/v1/managers/${id}/${verb}`, { key: admin });
        expect([answer.status, answer.body.code]).toEqual([409, "INVALID_STATE_TRANSITION"]);
      }
    });
  },
  OWN_PLATFORM,
);
