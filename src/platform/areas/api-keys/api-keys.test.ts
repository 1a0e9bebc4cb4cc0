import { expect, it } from "vitest";
import { ROLES, type Role, scopeOf } from "../../../contract/wire/roles.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

/** Who may mint what (§1.2); rows are callers. */
const MAY_MINT: readonly (readonly [Role, RegExp])[] = [
  ["workspace.admin", /./],
  ["workspace.member", /^(project|deployment|deployment-group)\./],
  ["project.developer", /^(project\.(viewer|developer)|deployment\..*|deployment-group\..*)$/],
];

onEachDatabase("api keys", (world) => {
  async function scopeFor(site: Site, role: Role, deploymentId: string): Promise<object> {
    const projectId = site.project.id;
    switch (scopeOf(role)) {
      case "workspace":
        return { type: "workspace", role };
      case "project":
        return { type: "project", role, projectId };
      case "deployment":
        return { type: "deployment", role, deploymentId, projectId };
      case "deployment-group":
        return { type: "deployment-group", role, deploymentGroupId: site.group.id, projectId };
      case "manager":
        return { type: "manager", role, managerId: site.manager.id };
    }
  }
  const mint = (key: string, scope: object, more: object = {}) =>
    world.call("POST", "/v1/api-keys", { key, body: { description: null, scope, ...more } });
  const developerOf = (site: Site) =>
    site.workspace.key("project.developer", { type: "project", projectId: site.project.id });

  it.each(MAY_MINT)("%s mints, sees and changes exactly what §1.2 says", async (caller, allowed) => {
    const site = await newSite(world);
    const deploymentId = await site.deploy("one");
    const key = caller === "project.developer" ? await developerOf(site) : await site.workspace.key(caller);
    for (const role of ROLES) {
      const scope = await scopeFor(site, role, deploymentId);
      const minted = await mint(key, scope);
      if (allowed.test(role)) {
        expect(minted.status, `${role} ${JSON.stringify(minted.body)}`).toBe(201);
        expect(minted.body.keyInfo).toMatchObject({
          role,
          type: scopeOf(role),
          keyPrefix: minted.body.apiKey.slice(0, 12),
        });
        expect((await world.call("GET", "/v1/whoami", { key: minted.body.apiKey })).body).toMatchObject({ role });
      } else expect([minted.status, minted.body.code], role).toEqual([403, "PRIVILEGE_ESCALATION"]);
      const { id } = (await mint(site.admin, scope)).body.keyInfo;
      const seen = allowed.test(role) ? 200 : 404;
      expect((await world.call("GET", `/v1/api-keys/${id}`, { key })).status, role).toBe(seen);
      expect((await world.call("PATCH", `/v1/api-keys/${id}`, { key, body: { enabled: false } })).status).toBe(seen);
      expect((await world.call("DELETE", `/v1/api-keys/${id}`, { key })).status).toBe(seen === 200 ? 204 : 404);
    }
    const listed = (await world.call("GET", "/v1/api-keys", { key, query: { limit: 100 } })).body.items;
    for (const { role } of listed) expect(role).toMatch(allowed);
  });

  it("a developer mints nothing in another project", async () => {
    const site = await newSite(world);
    const other = (await site.call("POST", "/v1/projects", { body: { name: "another" } })).body;
    const scope = { type: "project", role: "project.viewer", projectId: other.id };
    expect((await mint(await developerOf(site), scope)).body.code).toBe("PRIVILEGE_ESCALATION");
  });

  it("the scope's objects must be the workspace's, and the project theirs", async () => {
    const [site, foreign] = [await newSite(world), await newSite(world)];
    const deploymentId = await site.deploy("one");
    const code = async (scope: object) => (await mint(site.admin, scope)).body.code;
    const role = "deployment.viewer";
    expect(await code({ type: "project", role: "project.viewer", projectId: foreign.project.id })).toBe("NOT_FOUND");
    expect(await code({ type: "manager", role: "manager.runtime", managerId: foreign.manager.id })).toBe("NOT_FOUND");
    const misplaced = { type: "deployment", role, deploymentId, projectId: foreign.project.id };
    expect(await code(misplaced)).toBe("VALIDATION_ERROR");
    expect(await code({ ...misplaced, role: "project.viewer" })).toBe("VALIDATION_ERROR");
  });

  it("a key mints none that outlives it, and none for the past", async () => {
    const { id, key } = await world.workspace();
    const now = world.clock.wallNow().getTime();
    const at = (ms: number) => new Date(now + ms).toISOString();
    const minter = await world.platform.bootstrap.key({
      workspaceId: id,
      role: "workspace.admin",
      scope: { type: "workspace" },
      expiresAt: new Date(now + 60_000),
    });
    const scope = { type: "workspace", role: "workspace.viewer" };
    const code = async (bearer: string, expiresAt: string | null) =>
      (await mint(bearer, scope, { expiresAt })).body.code;
    for (const more of [{}, { expiresAt: null }]) {
      const { keyInfo } = (await mint(minter.key, scope, more)).body;
      expect(keyInfo.expiresAt).toBe(at(60_000));
      const unending = { key: minter.key, body: { expiresAt: null } };
      expect((await world.call("PATCH", `/v1/api-keys/${keyInfo.id}`, unending)).body).toMatchObject({
        ...{ code: "PRIVILEGE_ESCALATION", hint: expect.stringContaining(at(60_000)) },
      });
    }
    expect((await mint(minter.key, scope, { expiresAt: at(60_001) })).body).toMatchObject({
      ...{ code: "PRIVILEGE_ESCALATION", hint: expect.stringContaining(at(60_000)) },
    });
    expect(await code(minter.key, at(60_000))).toBeUndefined();
    expect(await code(await key("workspace.admin"), at(-1))).toBe("VALIDATION_ERROR");
  });

  it("disabled and enabled again it works; revoked it never changes again", async () => {
    const { key } = await world.workspace();
    const admin = await key("workspace.admin");
    const { apiKey, keyInfo } = (await mint(admin, { type: "workspace", role: "workspace.viewer" })).body;
    const path = `/v1/api-keys/${keyInfo.id}`;
    const patch = (body: object) => world.call("PATCH", path, { key: admin, body });
    const whoami = async () => (await world.call("GET", "/v1/whoami", { key: apiKey })).status;
    await patch({ enabled: false });
    expect(await whoami()).toBe(401);
    await patch({ enabled: true });
    expect(await whoami()).toBe(200);
    await world.call("DELETE", path, { key: admin });
    expect((await world.call("DELETE", path, { key: admin })).status).toBe(204);
    expect((await patch({ enabled: true })).body).toMatchObject({
      code: "INVALID_STATE_TRANSITION",
      context: { from: "revoked", to: "enabled", allowed: [] },
    });
    expect((await world.call("GET", path, { key: admin })).body.createdByUser).toBeNull();
  });

  it("only group keys have a setup policy", async () => {
    const site = await newSite(world);
    const scope = { type: "deployment-group", role: "deployment-group.deployer", deploymentGroupId: site.group.id };
    const group = (await mint(site.admin, { ...scope, projectId: site.project.id })).body.keyInfo;
    const plain = (await mint(site.admin, { type: "workspace", role: "workspace.viewer" })).body.keyInfo;
    const body = { deploymentSetupConfig: { policy: { allowReleasePinning: true } } };
    const patch = (id: string) => world.call("PATCH", `/v1/api-keys/${id}`, { key: site.admin, body });
    expect((await patch(group.id)).body.deploymentSetupConfig).toEqual({ policy: { allowReleasePinning: true } });
    expect((await patch(plain.id)).body.code).toBe("SETUP_CONFIG_INVALID");
  });

  it("batch-delete removes its own workspace's keys and skips the rest", async () => {
    const [one, two] = [await world.workspace(), await world.workspace()];
    const admin = await one.key("workspace.admin");
    const [mine, foreign] = [
      await mint(admin, { type: "workspace", role: "workspace.viewer" }),
      await mint(await two.key("workspace.admin"), { type: "workspace", role: "workspace.viewer" }),
    ].map(({ body }) => body);
    const ids = [mine.keyInfo.id, foreign.keyInfo.id, `apikey_${"0".repeat(28)}`];
    const answer = await world.call("POST", "/v1/api-keys/batch-delete", { key: admin, body: { ids } });
    expect(answer.body).toEqual({ deletedCount: 1 });
    expect((await world.call("GET", "/v1/whoami", { key: mine.apiKey })).body.code).toBe("API_KEY_INVALID");
    expect((await world.call("GET", "/v1/whoami", { key: foreign.apiKey })).status).toBe(200);
    const twice = await world.call("POST", "/v1/api-keys/batch-delete", {
      key: admin,
      body: { ids: [ids[2], ids[2]] },
    });
    expect(twice.body.code).toBe("VALIDATION_ERROR");
  });
});
