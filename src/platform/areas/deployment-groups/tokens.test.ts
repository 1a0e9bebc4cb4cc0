import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { promote, release, STACK } from "../releases/testing/releases.ts";

const POLICY = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
const CANARY = "canary-token-secret";
const VARIABLES = [
  { name: "API_URL", value: "https://api.example.com", type: "plain" },
  { name: "API_KEY", value: CANARY, type: "secret", targetResources: ["web*"] },
];

onEachDatabase("group tokens", (world) => {
  const mint = (site: Site, config: object = {}, more: object = {}): Promise<Answer> =>
    site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, {
      body: { deploymentSetupConfig: { metadata: {}, policy: POLICY, environmentVariables: [], ...config }, ...more },
    });
  const deploy = (key: string, body: object) =>
    world.call("POST", "/v1/deployments", { key, body: { platform: "kubernetes", ...body } });
  const issuesOf = (answer: Answer): string[] => [
    answer.body.code,
    ...(answer.body.context?.issues ?? []).map((issue: { path: string }) => issue.path),
  ];

  it("a token sets up deployments of its group with what the vendor settled, and shows no value", async () => {
    const site = await newSite(world);
    const releaseId = await release(site);
    const made = await mint(
      site,
      {
        metadata: { customer: "acme" },
        policy: { ...POLICY, stackSettings: { defaults: { updates: "approval-required" } } },
        environmentVariables: VARIABLES,
        publicSubdomain: "acme",
      },
      { setupItems: [{ item: "deployment", required: true }], inputValues: { size: 3 }, description: "for acme" },
    );
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    const { token, deploymentLink } = made.body;
    expect(token).toMatch(/^sp_g_/);
    expect(deploymentLink).toMatch(/\/deploy#token=sp_g_/);
    const created = await deploy(token, { name: "acme-eu", setupMethod: "helm" });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    expect(created.body.deployment).toMatchObject({
      publicSubdomain: "acme",
      stackSettings: { updates: "approval-required" },
      desiredReleaseId: releaseId,
    });
    const path = `/v1/deployments/${created.body.deployment.id}`;
    const deployment = (await world.call("GET", path, { key: site.manager.key })).body;
    expect(deployment.environmentVariables.map(({ name, value }: (typeof VARIABLES)[number]) => [name, value])).toEqual(
      [
        ["API_KEY", CANARY],
        ["API_URL", "https://api.example.com"],
      ],
    );
    const inputs = await site.call("GET", `${path}/inputs`);
    expect(inputs.body.values).toEqual({ size: 3 });
    const keys = await site.call("GET", "/v1/api-keys");
    const [key] = keys.body.items.filter(({ description }: { description: string }) => description === "for acme");
    expect(key.deploymentSetupConfig).toMatchObject({
      metadata: { customer: "acme" },
      items: [
        {
          item: "deployment",
          required: true,
          source: { type: "project-release", releaseChannel: "production", releaseId },
        },
      ],
    });
    const stored = await world.platform.db.selectFrom("group_token_setups").selectAll().execute();
    expect(JSON.stringify([keys.body, created.body, stored])).not.toContain(CANARY);
  });

  it("its policy bounds the platform, the method, the modes and pinning", async () => {
    const site = await newSite(world);
    const releaseId = await release(site);
    const policy = { ...POLICY, stackSettings: { allowedUpdatesModes: ["auto"], allowExternalBindings: false } };
    const { token } = (await mint(site, { policy })).body;
    const tried = async (body: object) => (await deploy(token, { name: "shop", ...body })).body.code;
    expect(await tried({ platform: "machines" })).toBe("SETUP_CONFIG_INVALID");
    expect(await tried({ stackSettings: { updates: "approval-required" } })).toBe("SETUP_CONFIG_INVALID");
    expect(await tried({ stackSettings: { externalBindings: { a: 1 } } })).toBe("SETUP_CONFIG_INVALID");
    expect(await tried({ setupMethod: "terraform" })).toBe("SETUP_METHOD_NOT_ALLOWED");
    expect(await tried({ pinnedReleaseId: releaseId })).toBe("RELEASE_PINNING_NOT_ALLOWED");
    expect(await tried({ setupMethod: "helm" })).toBeUndefined();
  });

  it("its policy holds for what is there too: a name of the group is no way to another deployment's key", async () => {
    const site = await newSite(world);
    const others: readonly [string, object, string][] = [
      ["machines", { platform: "machines" }, "SETUP_CONFIG_INVALID"],
      ["method", { setupMethod: "terraform" }, "SETUP_METHOD_NOT_ALLOWED"],
      ["silent", { stackSettings: { telemetry: "off" } }, "SETUP_CONFIG_INVALID"],
      ["model", { stackSettings: { deploymentModel: "push" } }, "SETUP_CONFIG_INVALID"],
    ];
    const stackSettings = { allowedTelemetryModes: ["auto"], allowedDeploymentModels: ["pull"] };
    const { token } = (await mint(site, { policy: { ...POLICY, stackSettings } })).body;
    for (const [name, more, code] of others) {
      const id = await site.deploy(name, more);
      const repeated = await deploy(token, { name });
      expect([repeated.body.code, repeated.body.token], name).toEqual([code, undefined]);
      const path = `/v1/deployments/${id}`;
      const set = (route: string, method: string, body: object) =>
        world.call(method, `${path}/${route}`, { key: token, body });
      expect((await set("environment-variables", "PATCH", { variables: [] })).body.code, name).toBe(code);
      expect((await set("inputs", "PATCH", { inputValues: {} })).body.code, name).toBe(code);
    }
    expect((await deploy(token, { name: "shop" })).status).toBe(201);
    expect((await deploy(token, { name: "shop" })).status).toBe(200);
  });

  it("what a restricted token leaves out is stored within its policy; its own token changes no setting and pins nothing", async () => {
    const site = await newSite(world);
    const releaseId = await release(site);
    const stackSettings = {
      allowedUpdatesModes: ["approval-required"],
      allowedTelemetryModes: ["off"],
      allowedHeartbeatsModes: ["off"],
      allowedDeploymentModels: ["push"],
    };
    const { token } = (await mint(site, { policy: { ...POLICY, stackSettings } })).body;
    const made = await deploy(token, { name: "shop" });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    expect(made.body.deployment.stackSettings).toEqual({
      updates: "approval-required",
      telemetry: "off",
      heartbeats: "off",
      deploymentModel: "push",
    });
    expect(made.body.deploymentModel).toBe("push");
    const path = `/v1/deployments/${made.body.deployment.id}`;
    for (const key of [token, made.body.token]) {
      const changed = await world.call("PATCH", path, { key, body: { stackSettings: { updates: "auto" } } });
      const pinned = await world.call("POST", `${path}/pin-release`, { key, body: { releaseId } });
      expect([changed.body.code, pinned.body.code]).toEqual(["FORBIDDEN", "FORBIDDEN"]);
    }
  });

  it("a policy that contradicts itself or the project is refused by name", async () => {
    const site = await newSite(world);
    const policy = (more: object) => ({ policy: { ...POLICY, ...more } });
    const at = "body.deploymentSetupConfig.policy";
    expect(issuesOf(await mint(site, policy({ allowedSetupMethods: ["helm", "cloudformation"] })))).toEqual([
      "SETUP_CONFIG_INVALID",
      `${at}.allowedSetupMethods.1`,
    ]);
    const stackSettings = { defaults: { telemetry: "off" }, allowedTelemetryModes: ["auto"] };
    expect(issuesOf(await mint(site, policy({ stackSettings })))).toEqual([
      "SETUP_CONFIG_INVALID",
      `${at}.stackSettings.defaults.telemetry`,
    ]);
    expect(issuesOf(await mint(site, { environmentVariables: [VARIABLES[0], VARIABLES[0]] }))).toEqual([
      "SETUP_CONFIG_INVALID",
      "body.deploymentSetupConfig.environmentVariables.1.name",
    ]);
    const items = await mint(
      site,
      {},
      {
        setupItems: [
          { item: "deployment", required: true },
          { item: "models", required: false },
        ],
      },
    );
    expect(issuesOf(items)).toEqual([
      "SETUP_CONFIG_INVALID",
      "body.setupItems.0.releaseChannel",
      "body.setupItems.1.item",
      "body.setupItems.1.releaseChannel",
    ]);
    await release(site);
    expect(issuesOf(await mint(site, {}, { inputValues: { size: 99, other: 1 } }))).toEqual([
      "INPUT_VALUES_INVALID",
      "body.inputValues.size",
      "body.inputValues.other",
    ]);
  });

  it("an item keeps the release that it captured", async () => {
    const site = await newSite(world);
    await site.call("PATCH", `/v1/projects/${site.project.name}`, {
      body: { enabledCapabilities: ["deployments", "models"] },
    });
    const one = await release(site);
    const setupItems = [{ item: "models", required: true, providerAllowlist: ["openai"] }];
    await mint(site, {}, { setupItems, description: "models" });
    await promote(site, await release(site, { stack: { kubernetes: { ...STACK, id: "two" } } }));
    const [key] = (await site.call("GET", "/v1/api-keys")).body.items;
    expect(key.deploymentSetupConfig.items).toEqual([
      {
        item: "models",
        required: true,
        source: { type: "built-in", definitionId: "customer-ai", version: "1", sourceReleaseId: one },
        configuration: { allowedProviders: ["openai"], providerAllowlist: ["openai"], modelRequirements: [] },
      },
    ]);
  });

  it("tokens live side by side, end when they say, and never after the key that minted them", async () => {
    const site = await newSite(world);
    const inAnHour = new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString();
    const [one, two] = [(await mint(site, {}, { expiresAt: inAnHour })).body.token, (await mint(site)).body.token];
    const read = async (key: string) => (await world.call("GET", "/v1/deployment-groups", { key })).body.code;
    expect([await read(one), await read(two)]).toEqual([undefined, undefined]);
    world.clock.advance(3_601_000);
    expect([await read(one), await read(two)]).toEqual(["API_KEY_EXPIRED", undefined]);
    expect(issuesOf(await mint(site, {}, { expiresAt: inAnHour }))).toEqual(["VALIDATION_ERROR", "body.expiresAt"]);
    const scope = { type: "workspace", role: "workspace.member" };
    const short = await world.call("POST", "/v1/api-keys", {
      key: site.admin,
      body: { description: null, scope, expiresAt: new Date(world.clock.wallNow().getTime() + 60_000).toISOString() },
    });
    const path = `/v1/deployment-groups/${site.group.id}`;
    const body = { deploymentSetupConfig: { metadata: {}, policy: POLICY, environmentVariables: [] } };
    const key = short.body.apiKey;
    const { token } = (await world.call("POST", `${path}/tokens`, { key, body })).body;
    const keys = (await site.call("GET", "/v1/api-keys")).body.items;
    expect(keys.find(({ keyPrefix }: { keyPrefix: string }) => token.startsWith(keyPrefix)).expiresAt).toBe(
      short.body.keyInfo.expiresAt,
    );
    const later = new Date(Date.parse(short.body.keyInfo.expiresAt) + 1).toISOString();
    const longer = await world.call("POST", `${path}/tokens`, { key, body: { ...body, expiresAt: later } });
    expect(longer.body).toMatchObject({ code: "PRIVILEGE_ESCALATION", hint: expect.stringContaining("expiresAt") });
    const session = await world.call("POST", `${path}/first-party-session`, { key });
    expect(session.body.expiresAt).toBe(short.body.keyInfo.expiresAt);
  });

  it("a first-party session lasts an hour, allows everything, and takes the place of the caller's last one", async () => {
    const site = await newSite(world);
    const path = `/v1/deployment-groups/${site.group.id}/first-party-session`;
    const open = async (key: string) => (await world.call("POST", path, { key })).body;
    const [mine, others] = [await open(site.member), await open(site.admin)];
    const lastsMs = Date.parse(mine.expiresAt) - world.clock.wallNow().getTime();
    expect(lastsMs).toBeGreaterThan(3_590_000);
    expect(lastsMs).toBeLessThanOrEqual(3_600_000);
    const again = await open(site.member);
    const read = async (key: string) => (await world.call("GET", "/v1/deployment-groups", { key })).body.code;
    expect([await read(mine.token), await read(again.token), await read(others.token)]).toEqual([
      "API_KEY_REVOKED",
      undefined,
      undefined,
    ]);
    const releaseId = await release(site);
    expect(
      (await deploy(again.token, { name: "shop", pinnedReleaseId: releaseId, setupMethod: "manual" })).status,
    ).toBe(201);
    const other = await newSite(world);
    expect((await other.call("POST", path)).status).toBe(404);
  });
});
