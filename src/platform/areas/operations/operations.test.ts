import { describe, expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { insertDeployment, insertProject, newSite, type Site } from "./testing/site.ts";

const SCALE = { namespace: "shop", kind: "deployment", name: "api", replicas: 3 };

onEachDatabase("operations", (world) => {
  const invoke = (site: Site, body: Readonly<Record<string, unknown>> = {}, key = site.engineer): Promise<Answer> =>
    world.call("POST", "/v1/operations/invoke", {
      key,
      body: { deploymentId: site.deploymentId, plugin: "kubernetes", operation: "scale", params: SCALE, ...body },
    });
  const putRules = (site: Site, rules: unknown): Promise<Answer> =>
    world.call("PUT", "/v1/operations/policy", { key: site.engineer, body: { rules } });
  const enable = (site: Site, names: readonly string[]): Promise<Answer> =>
    world.call("PUT", "/v1/operations/plugins/builtin/enabled", { key: site.engineer, body: { names } });
  const commandsOf = async (site: Site) =>
    world.platform.db.selectFrom("commands").selectAll().where("deployment_id", "=", site.deploymentId).execute();

  describe("plugins", () => {
    it("a new project has the built-in plugins, each enabled", async () => {
      const site = await newSite(world);
      const { status, body } = await world.call("GET", "/v1/operations/plugins", { key: site.engineer });
      expect(status).toBe(200);
      expect(body.plugins.map((p: { name: string; enabled: boolean }) => [p.name, p.enabled])).toEqual([
        ["debug", true],
        ["kubernetes", true],
        ["machines", true],
      ]);
      expect(body.plugins[1].operations).toContainEqual({
        name: "scale",
        tier: "mutating",
        description: expect.any(String),
        paramsSchema: expect.objectContaining({ required: ["namespace", "kind", "name", "replicas"] }),
      });
      const scopes = body.plugins[1].operations.flatMap(({ name, scope }: { name: string; scope?: string }) =>
        scope === undefined ? [] : [[name, scope]],
      );
      expect(scopes).toEqual([
        ["cordon-node", "cluster"],
        ["uncordon-node", "cluster"],
      ]);
      const wrong = await invoke(site, { params: { ...SCALE, kind: "Deployment" } });
      expect(wrong.body.context.issues).toEqual([
        { path: "/params/kind", message: "must be one of deployment, statefulset" },
      ]);
    });

    it("the set of enabled ones is replaced, sorted, and shows in the list", async () => {
      const site = await newSite(world);
      expect((await enable(site, [])).body).toEqual({ names: [] });
      const { body } = await world.call("GET", "/v1/operations/plugins", {
        key: site.viewer,
        query: { project: site.projectName },
      });
      expect(body.plugins.map((p: { enabled: boolean }) => p.enabled)).toEqual([true, false, true]);
      expect((await enable(site, ["kubernetes"])).body).toEqual({ names: ["kubernetes"] });
    });

    it("what is not there cannot be in that set", async () => {
      const site = await newSite(world);
      const { status, body } = await enable(site, ["kubernetes", "nonesuch"]);
      expect([status, body.code, body.context]).toEqual([400, "UNKNOWN_PLUGIN", { names: ["nonesuch"] }]);
    });

    it("that set is taken back as the list shows it, with those that are always enabled", async () => {
      const site = await newSite(world);
      const listed = async () => {
        const { plugins } = (await world.call("GET", "/v1/operations/plugins", { key: site.engineer })).body;
        return plugins.flatMap((each: { name: string; enabled: boolean }) => (each.enabled ? [each.name] : []));
      };
      const all = await listed();
      expect((await enable(site, all)).body).toEqual({ names: all });
      expect(await listed()).toEqual(all);
    });

    it("one plugin is switched by name, except debug, machines and what is not there", async () => {
      const site = await newSite(world);
      const patch = (name: string, enabled = false): Promise<Answer> =>
        world.call("PATCH", `/v1/operations/plugins/${name}/enabled`, { key: site.engineer, body: { enabled } });
      expect((await patch("kubernetes")).body).toEqual({ name: "kubernetes", builtin: true, enabled: false });
      expect((await invoke(site)).body.code).toBe("PLUGIN_DISABLED");
      expect((await patch("kubernetes", true)).status).toBe(200);
      expect((await invoke(site)).status).toBe(200);
      for (const name of ["debug", "machines"]) {
        expect((await patch(name)).body).toMatchObject({
          ...{ code: "VALIDATION_ERROR", context: { issues: [{ path: "body.enabled" }] } },
        });
        expect((await patch(name, true)).body).toEqual({ name, builtin: true, enabled: true });
      }
      expect((await patch("nonesuch")).status).toBe(404);
    });

    it("without object storage nothing can be uploaded, and so nothing registered", async () => {
      const { engineer: key } = await newSite(world);
      const url = (name: string): Promise<Answer> =>
        world.call("POST", "/v1/operations/plugins/upload-url", { key, body: { name } });
      const register = (body: object): Promise<Answer> => world.call("POST", "/v1/operations/plugins", { key, body });
      const plugin = { name: "shop", version: "1.0.0", tier: "mutating" };
      expect(await url("shop")).toMatchObject({ status: 503, body: { code: "BUNDLE_STORAGE_UNAVAILABLE" } });
      expect(await url("kubernetes")).toMatchObject({ status: 409, body: { code: "NAME_TAKEN" } });
      expect(await register(plugin)).toMatchObject({ status: 409, body: { code: "BUNDLE_NOT_UPLOADED" } });
      expect(await register({ ...plugin, name: "debug" })).toMatchObject({ status: 409, body: { code: "NAME_TAKEN" } });
      expect(await register({ ...plugin, metadata: { name: "other" } })).toMatchObject({
        status: 400,
        body: { code: "PLUGIN_METADATA_INVALID", context: { issues: expect.any(Array) } },
      });
    });
  });

  describe("policy", () => {
    it("is empty and manual at first, then exactly what was put", async () => {
      const site = await newSite(world);
      const get = (): Promise<Answer> => world.call("GET", "/v1/operations/policy", { key: site.engineer });
      expect((await get()).body).toEqual({ rules: [], default: "manual" });
      const rules = [
        { pattern: "*", decision: "manual" },
        { pattern: "kubernetes/*", decision: "auto" },
        { pattern: "kubernetes/get-pods", decision: "auto" },
      ];
      expect((await putRules(site, rules)).body).toEqual({ rules, default: "manual" });
      expect((await get()).body).toEqual({ rules, default: "manual" });
      expect((await putRules(site, [])).status).toBe(200);
      expect((await get()).body).toEqual({ rules: [], default: "manual" });
    });

    it("knows what its rules name", async () => {
      const site = await newSite(world);
      const rules = ["kubernets/get-pods", "kubernetes/get-pod", "shop/*", "kubernetes/logs", "debug/exec"];
      const put = () =>
        putRules(
          site,
          rules.map((pattern) => ({ pattern, decision: "auto" })),
        );
      const { status, body } = await put();
      expect([status, body.code, body.context]).toEqual([400, "UNKNOWN_OPERATION", { names: rules.slice(0, 3) }]);
      expect(body.message).toContain("kubernets/get-pods");
      rules.splice(0, 3);
      expect((await put()).status).toBe(200);
    });

    it("names a pattern once", async () => {
      const site = await newSite(world);
      const rule = { pattern: "*", decision: "auto" };
      const { status, body } = await putRules(site, [rule, { ...rule, decision: "manual" }]);
      expect([status, body.code, body.context]).toEqual([400, "DUPLICATE_PATTERN", { patterns: ["*"] }]);
    });
  });

  describe("invoke", () => {
    it("an operation of cluster scope needs an access request, whatever a rule says", async () => {
      const site = await newSite(world);
      for (const pattern of ["*", "kubernetes/cordon-node"]) {
        await putRules(site, [{ pattern, decision: "auto" }]);
        const { status, body } = await invoke(site, { operation: "cordon-node", params: { name: "node-1" } });
        expect([status, body.decision, body.status, body.commandId]).toEqual([
          200,
          "manual",
          "pending-approval",
          undefined,
        ]);
      }
      expect(await commandsOf(site)).toEqual([]);
    });

    it("creates nothing when a person has to decide", async () => {
      const site = await newSite(world);
      expect(await invoke(site)).toMatchObject({
        status: 200,
        body: {
          plugin: "kubernetes",
          operation: "scale",
          tier: "mutating",
          decision: "manual",
          status: "pending-approval",
        },
      });
      expect(await commandsOf(site)).toEqual([]);
    });

    it("creates a command of one hour for the operator when the policy says auto, and wakes the manager", async () => {
      const site = await newSite(world);
      await putRules(site, [{ pattern: "kubernetes/scale", decision: "auto" }]);
      const { status, body } = await invoke(site);
      expect([status, body.decision, body.status]).toEqual([200, "auto", "dispatched"]);
      const [command, ...others] = await commandsOf(site);
      expect(others).toEqual([]);
      expect(command).toMatchObject({
        id: body.commandId,
        name: "kubernetes/scale",
        state: "PENDING",
        target: { resourceId: "operator", resourceType: "daemon" },
        access_request_id: null,
        plan_index: null,
      });
      expect(JSON.parse(command?.params ?? "")).toEqual(SCALE);
      expect(Number(command?.deadline) - Number(command?.created_at)).toBe(3_600_000);
      const raised = await world.platform.db.selectFrom("work_feed").selectAll().execute();
      expect(raised).toContainEqual(expect.objectContaining({ manager_id: site.managerId, topic: "commands" }));
    });

    it("with an Idempotency-Key runs once", async () => {
      const site = await newSite(world);
      await putRules(site, [{ pattern: "*", decision: "auto" }]);
      const once = (): Promise<Answer> =>
        world.call("POST", "/v1/operations/invoke", {
          key: site.engineer,
          headers: { "idempotency-key": "again" },
          body: { deploymentId: site.deploymentId, plugin: "kubernetes", operation: "scale", params: SCALE },
        });
      expect((await once()).body).toEqual((await once()).body);
      expect(await commandsOf(site)).toHaveLength(1);
    });

    it.each<[string, Readonly<Record<string, unknown>>, number, string]>([
      ["unknown plugin", { plugin: "nonesuch" }, 404, "NOT_FOUND"],
      ["unknown operation", { operation: "nonesuch" }, 404, "NOT_FOUND"],
      ["debug", { plugin: "debug", operation: "read", params: { namespace: "a", mode: "read" } }, 404, "NOT_FOUND"],
      ["a machine", { plugin: "machines", operation: "drain", params: { machineId: "m" } }, 404, "NOT_FOUND"],
      ["no params where some are needed", { params: {} }, 400, "INVALID_OPERATION_PARAMS"],
      ["an unknown param", { params: { ...SCALE, force: true } }, 400, "INVALID_OPERATION_PARAMS"],
      ["params too large", { params: { ...SCALE, name: "x".repeat(5000) } }, 413, "PARAMS_TOO_LARGE"],
      ["too large beats not there", { plugin: "nonesuch", params: { a: "x".repeat(5000) } }, 413, "PARAMS_TOO_LARGE"],
    ])("refuses %s", async (_, change, status, code) => {
      const site = await newSite(world);
      await putRules(site, [{ pattern: "*", decision: "auto" }]);
      expect(await invoke(site, change)).toMatchObject({ status, body: { code } });
      expect(await commandsOf(site)).toEqual([]);
    });

    it("refuses a number that JSON readers round, and says where", async () => {
      const site = await newSite(world);
      const body = `{"deploymentId":"${site.deploymentId}","plugin":"kubernetes","operation":"scale","params":{"replicas":9007199254740993}}`;
      const answer = await world.call("POST", "/v1/operations/invoke", { key: site.engineer, body });
      expect(answer).toMatchObject({ status: 400, body: { code: "INVALID_OPERATION_PARAMS" } });
      expect(answer.body.context.issues[0].path).toBe("/params/replicas");
    });

    it.each<["delete-pending" | "deleting" | "deleted" | "teardown-required" | "teardown-failed"]>([
      ["delete-pending"],
      ["deleting"],
      ["deleted"],
      ["teardown-required"],
      ["teardown-failed"],
    ])("asks nothing of a deployment that is %s", async (status) => {
      const site = await newSite(world);
      const { id: workspaceId } = site.workspace;
      const deploymentId = await insertDeployment(world.platform.db, { ...site, workspaceId, status });
      expect(await invoke(site, { deploymentId })).toMatchObject({
        status: 409,
        body: { code: "INVALID_STATE_TRANSITION", context: { from: status } },
      });
    });

    it("needs a manager", async () => {
      const site = await newSite(world);
      const { id: workspaceId } = site.workspace;
      const deploymentId = await insertDeployment(world.platform.db, { ...site, workspaceId, managerId: null });
      expect(await invoke(site, { deploymentId })).toMatchObject({
        status: 400,
        body: { code: "DEPLOYMENT_HAS_NO_MANAGER" },
      });
    });
  });

  describe("tenancy", () => {
    it("another workspace's, and another project's, deployment looks absent", async () => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const sibling = await insertProject(world.platform.db, site.workspace.id);
      const deploymentId = await insertDeployment(world.platform.db, {
        workspaceId: site.workspace.id,
        projectId: sibling.projectId,
        managerId: site.managerId,
      });
      expect((await invoke(site, { deploymentId: other.deploymentId })).status).toBe(404);
      expect((await invoke(site, { deploymentId })).status).toBe(404);
      const member = await site.workspace.key("workspace.member");
      const query = { project: site.projectId };
      const body = { deploymentId, plugin: "kubernetes", operation: "scale", params: SCALE };
      expect((await world.call("POST", "/v1/operations/invoke", { key: member, query, body })).status).toBe(404);
    });

    it("a workspace key has to name the project, and only its own ones exist", async () => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const policy = (query: { project?: string }): Promise<Answer> =>
        world.call("GET", "/v1/operations/policy", { key: site.viewer, query });
      expect(await policy({})).toMatchObject({ status: 400, body: { code: "PROJECT_REQUIRED" } });
      expect((await policy({ project: site.projectName })).status).toBe(200);
      expect((await policy({ project: other.projectId })).status).toBe(404);
    });

    it("a manager reads plugins and policy of the projects it serves, and nothing else", async () => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const unserved = await insertProject(world.platform.db, site.workspace.id);
      const read = (project: string): Promise<Answer> =>
        world.call("GET", "/v1/operations/plugins", { key: site.manager, query: { project } });
      expect((await read(site.projectId)).status).toBe(200);
      expect((await read(site.projectName)).status).toBe(200);
      expect((await read(unserved.projectId)).status).toBe(404);
      expect((await read(other.projectId)).status).toBe(404);
      expect((await invoke(site, {}, site.manager)).status).toBe(403);
    });
  });

  it.each<[string, string, unknown, string]>([
    ["PUT", "policy", { rules: [{ pattern: "kubernetes", decision: "auto" }] }, "body.rules.0.pattern"],
    ["PUT", "policy", { rules: [{ pattern: "*", decision: "deny" }] }, "body.rules.0.decision"],
    ["PUT", "policy", { rules: [], default: "auto" }, "body.default"],
    [
      "PUT",
      "policy",
      { rules: Array.from({ length: 201 }, (_, i) => ({ pattern: `p${i}/*`, decision: "auto" })) },
      "body.rules",
    ],
    ["PUT", "policy", [], "body"],
    ["PUT", "plugins/builtin/enabled", { names: ["kubernetes", "kubernetes"] }, "body.names"],
    ["PUT", "plugins/builtin/enabled", {}, "body.names"],
    ["PATCH", "plugins/kubernetes/enabled", { enabled: "yes" }, "body.enabled"],
    ["PATCH", "plugins/Kubernetes/enabled", { enabled: true }, "path.name"],
    ["POST", "plugins", { name: "a_b", version: "1", tier: "mutating" }, "body.name"],
    ["POST", "plugins", { name: "a", version: "-1", tier: "mutating" }, "body.version"],
    ["POST", "plugins", { name: "a", version: "1", tier: "harmless" }, "body.tier"],
    ["POST", "plugins/upload-url", { name: "" }, "body.name"],
    ["POST", "invoke", { deploymentId: "dep_x", plugin: "a", operation: "b" }, "body.deploymentId"],
    [
      "POST",
      "invoke",
      { deploymentId: `dep_${"0".repeat(28)}`, plugin: "a", operation: "b", params: [] },
      "body.params",
    ],
    ["POST", "invoke", { deploymentId: `dep_${"0".repeat(28)}`, plugin: "a", operation: "b", tier: "x" }, "body.tier"],
  ])("%s %s %j is a 400 that names %s", async (method, path, body, where) => {
    const { engineer: key } = await newSite(world);
    const answer = await world.call(method, `/v1/operations/${path}`, { key, body });
    expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(answer.body.context.issues.map((issue: { path: string }) => issue.path)).toContain(where);
  });
});
