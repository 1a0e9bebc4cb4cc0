import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { promote, release, STACK } from "../releases/testing/releases.ts";

const POLICY = { allowedPlatforms: ["aws", "gcp"], allowedSetupMethods: ["cloudformation", "terraform"] };

onEachDatabase("the deployment portal", (world) => {
  const token = async (site: Site, policy: object = {}, more: object = {}): Promise<string> => {
    const config = { metadata: {}, policy: { ...POLICY, ...policy }, environmentVariables: [] };
    const body = { deploymentSetupConfig: config, ...more };
    return (await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body })).body.token;
  };
  const ask = (key: string, what: "compute-plan" | "prepare-stack", more: object = {}) =>
    world.call("POST", `/v1/deployment-info/${what}`, {
      key,
      body: { platform: "aws", setupMethod: "cloudformation", stackSettings: {}, ...more },
    });

  it("plans and prepares the active release for the token's platforms", async () => {
    const site = await newSite(world);
    const key = await token(site);
    expect((await ask(key, "compute-plan")).body).toMatchObject({
      code: "NOT_FOUND",
      context: { resource: "release" },
    });
    const id = await release(site, { stack: { aws: STACK, kubernetes: STACK } });
    const { pools } = (await ask(key, "compute-plan")).body;
    expect(pools).toMatchObject([{ poolId: "default", workloads: ["web"], errors: [] }]);
    expect((await ask(key, "compute-plan")).body).toEqual({ pools });
    const prepared = (await ask(key, "prepare-stack")).body;
    const { setupFingerprints } = (await site.call("GET", `/v1/releases/${id}`)).body;
    expect(prepared).toEqual({ platform: "aws", stack: STACK, setup: setupFingerprints.aws });
    const settings = { stackSettings: { network: { type: "use-default" } } };
    const other = (await ask(key, "prepare-stack", settings)).body.setup;
    expect(other).toMatchObject({ target: "aws", version: 1, fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(other.fingerprint).not.toBe(prepared.setup.fingerprint);
    expect((await ask(key, "prepare-stack", settings)).body.setup).toEqual(other);
    const elsewhere = await ask(key, "compute-plan", { platform: "gcp", setupMethod: "terraform" });
    expect(elsewhere.body.code).toBe("NOT_FOUND");
  });

  it("an item's captured release stays the plan's, whatever is promoted later", async () => {
    const site = await newSite(world);
    await release(site, { stack: { aws: { ...STACK, id: "one" } } });
    const key = await token(site, {}, { setupItems: [{ item: "deployment", required: true }] });
    await promote(site, await release(site, { stack: { aws: { ...STACK, id: "two" } } }));
    const idFor = async (more: object) => (await ask(key, "prepare-stack", more)).body.stack?.id;
    expect([await idFor({ setupItem: "deployment" }), await idFor({})]).toEqual(["one", "two"]);
    expect((await ask(key, "prepare-stack", { setupItem: "models" })).body.code).toBe("NOT_FOUND");
  });

  it("keeps to the policy, its defaults and what a method can reach", async () => {
    const site = await newSite(world);
    await release(site, { stack: { aws: STACK, gcp: STACK, azure: STACK } });
    const stackSettings = { defaults: { updates: "auto" }, allowedUpdatesModes: ["auto"] };
    const key = await token(site, { stackSettings });
    const code = async (more: object) => (await ask(key, "compute-plan", more)).body.code;
    expect(await code({ platform: "azure", setupMethod: "terraform" })).toBe("SETUP_CONFIG_INVALID");
    expect(await code({ stackSettings: { updates: "approval-required" } })).toBe("SETUP_CONFIG_INVALID");
    expect(await code({ setupMethod: "manual" })).toBe("SETUP_METHOD_NOT_ALLOWED");
    const reach = await ask(key, "compute-plan", { platform: "gcp" });
    expect(reach.body).toMatchObject({
      code: "SETUP_METHOD_NOT_ALLOWED",
      context: { allowed: ["google-oauth", "terraform", "cli", "manual"] },
    });
    expect(await code({})).toBeUndefined();
  });

  it("opens for a group's token only: every other credential is of the wrong kind", async () => {
    const site = await newSite(world);
    const deploymentId = await site.deploy("shop");
    const scope = { type: "deployment", deploymentId, projectId: site.project.id } as const;
    const own = await site.workspace.key("deployment.manager", scope);
    for (const key of [site.admin, site.member, site.manager.key, own]) {
      const answer = await ask(key, "prepare-stack");
      expect([answer.status, answer.body.code]).toEqual([401, "WRONG_TOKEN_KIND"]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });
});
