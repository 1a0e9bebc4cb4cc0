import Type, { type TSchema } from "typebox";
import { expect, it } from "vitest";
import { Checker } from "../kernel/input/syntax.ts";
import { type Answer, onEachDatabase, type World } from "../testing/harness.ts";
import { newSite, type Site } from "./deployments/testing/site.ts";
import { release, STACK } from "./releases/testing/releases.ts";

// What a client reads that knows the API by its description alone: a field is of its kind, null only where the
// description has a null, and absent when it is unset.

const text = Type.String();
const maybe = Type.Optional;
const open = Type.Object;
const error = maybe(open({ code: text, message: text, internal: Type.Boolean(), retryable: Type.Boolean() }));
const built = { status: text, version: maybe(text), error };
const policy = open({ allowedPlatforms: Type.Array(text), allowedSetupMethods: Type.Array(text) });
const variable = open({ name: text, type: text, targetResources: Type.Union([Type.Array(text), Type.Null()]) });
const item = open({
  item: text,
  required: Type.Boolean(),
  source: open({ type: text, releaseChannel: maybe(text), releaseId: maybe(text), resourceId: maybe(text) }),
});
const creator = open({ id: text, email: text, image: Type.Union([text, Type.Null()]) });

const DEPLOYMENT_INFO = open({
  tokenType: text,
  deployment: maybe(open({ name: text, platform: text })),
  deploymentGroup: maybe(open({ id: text, name: text, pinnedSubdomain: Type.Union([text, Type.Null()]) })),
  workspace: open({ id: text, name: text, avatarUrl: maybe(text) }),
  project: open({
    name: text,
    portal: open({
      appearance: open({
        ...{ avatarUrl: maybe(text), preset: text, accentColor: text, title: maybe(text), subtitle: maybe(text) },
        ...{ supportUrl: maybe(text), docsUrl: maybe(text), density: text },
      }),
    }),
    stackSummary: maybe(
      open({
        platforms: Type.Array(text),
        requiresNetwork: Type.Boolean(),
        customerModels: Type.Boolean(),
        resourceCounts: open({ workers: Type.Integer(), total: Type.Integer() }),
        publicEndpoints: Type.Array(
          open({ resourceId: text, endpointName: text, hostLabel: text, wildcardSubdomains: Type.Boolean() }),
        ),
      }),
    ),
    generatedDomain: maybe(open({ domain: text, isSystem: Type.Boolean() })),
  }),
  packages: open({
    ready: Type.Boolean(),
    cli: maybe(
      open({ ...built, commandName: text, installScripts: maybe(open({ windows: text, mac: text, linux: text })) }),
    ),
    cloudformation: maybe(open({ ...built, mode: text, launchUrl: maybe(text), outputsSchema: maybe(open({})) })),
    terraform: maybe(
      open({ ...built, providerSource: maybe(text), moduleSources: open({}), moduleVersion: maybe(text) }),
    ),
    helm: maybe(
      open({ ...built, chartRef: maybe(text), managerFetchExample: maybe(text), localImportExample: maybe(text) }),
    ),
  }),
  installContext: open({
    targets: Type.Record(
      text,
      open({
        ...{ platform: text, managerUrl: maybe(text), managementConfig: maybe(open({})) },
        awsManagingAccountId: maybe(text),
      }),
    ),
  }),
  supportedRegions: open({ aws: Type.Array(text), gcp: Type.Array(text), azure: Type.Array(text) }),
  modelAvailabilitySources: Type.Array(open({ deploymentId: text, resourceId: text, status: text })),
  setupItems: maybe(Type.Array(item)),
  setupConfig: maybe(open({ policy, environmentVariables: Type.Array(variable), items: Type.Array(item) })),
});

const SETUP = open({
  ...{ managerId: text, setupStatus: text, setupToken: text, setupTokenId: text, deploymentLink: text },
  setupConfig: open({ policy, items: Type.Array(item), publicSubdomain: maybe(text), inputValues: open({}) }),
  setup: open({
    ...{ method: text, deploymentPortalUrl: text, launchUrl: maybe(text), templateUrl: maybe(text) },
    ...{ stackName: maybe(text), region: maybe(text), managerUrl: maybe(text), commands: maybe(text) },
  }),
});

const DEPLOYMENT = open({
  managerId: maybe(text),
  setupMethod: maybe(text),
  environmentVariables: Type.Union([Type.Array(variable), Type.Null()]),
  updateState: maybe(open({ active: Type.Union([open({ targetReleaseId: maybe(text) }), Type.Null()]) })),
});

const RESOURCE = open({
  deployment: open({ deploymentId: text, resourceId: text, observedAt: maybe(text) }),
  heartbeat: open({ status: text }),
});
const EVENTS = open({
  items: Type.Array(open({ data: Type.Record(text, Type.Union([text, Type.Object({}), Type.Array(text)])) })),
});

function expectRead(schema: TSchema, { status, body }: Answer): void {
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  expect(new Checker("answer", schema).issues(body), JSON.stringify(body)).toEqual([]);
}

onEachDatabase("a client that knows the description alone reads", (world) => {
  it("what a deployment link offers, before and after its packages are built", async () => {
    const site = await newSite(world);
    const info = async (key: string) => world.call("GET", "/v1/deployment-info", { key });
    const empty = await token(site, {});
    expectRead(DEPLOYMENT_INFO, await info(empty));
    const packagesConfig = {
      cli: { enabled: true, name: "shop", displayName: "Shop", binaryTargets: ["linux-x64"] },
      ...{ helm: { enabled: true, chartName: "shop", description: "" }, terraform: { enabled: true } },
      cloudformation: { enabled: true },
    };
    await site.call("PATCH", `/v1/projects/${site.project.id}`, { body: { packagesConfig } });
    const ai = { id: "ai", type: "ai", modelRequirements: [{ publicModelId: "m", clientApis: [], required: true }] };
    const web = { ...STACK.resources.web?.config, publicEndpoints: [{ name: "api" }] };
    const live = { dependencies: [{ id: "data", type: "bucket" }], lifecycle: "live" };
    const resources = { ...STACK.resources, ai: { config: ai, ...live }, web: { config: web, ...live } };
    await release(site, { stack: { kubernetes: { ...STACK, resources } } });
    const setupItems = [{ item: "deployment", required: true }];
    const key = await token(site, { setupItems });
    const offered = await info(key);
    expectRead(DEPLOYMENT_INFO, offered);
    expect(offered.body.project.stackSummary.customerModels).toBe(true);
    expect(Object.keys(offered.body.packages).sort()).toEqual(["cli", "cloudformation", "helm", "ready", "terraform"]);
    const deploymentKey = await ownToken(world, site);
    expectRead(DEPLOYMENT_INFO, await info(deploymentKey));
  });

  it("a manager's setup, of every cloud and method", async () => {
    for (const wanted of [
      { cloud: "aws", region: "eu-west-1" },
      { cloud: "gcp", region: "europe-west3" },
      { cloud: "azure", region: "westeurope" },
    ]) {
      const key = await (await world.workspace()).key("workspace.admin");
      const made = await world.call("POST", "/v1/managers", { key, body: { name: "ours", ...wanted } });
      expectRead(SETUP, made);
      expectRead(SETUP, await world.call("POST", `/v1/managers/${made.body.managerId}/retry`, { key }));
    }
  });

  it("what a release asks for, each with its texts and who answers", async () => {
    const site = await newSite(world);
    const inputs = [{ id: "size", kind: "integer", label: "Size", required: false }];
    await release(site, { stack: { kubernetes: { ...STACK, inputs } } });
    const id = await site.deploy("shop");
    const input = open({ id: text, kind: text, label: text, description: text, providedBy: Type.Array(text) });
    expectRead(open({ inputs: Type.Array(input) }), await site.call("GET", `/v1/deployments/${id}/inputs`));
    const info = await world.call("GET", "/v1/deployment-info", { key: await token(site, {}) });
    expectRead(open({ setupConfig: open({ inputs: Type.Array(input) }) }), info);
  });

  it("deployments, their events and resources", async () => {
    const site = await newSite(world);
    await release(site, { stack: { kubernetes: STACK } });
    const id = await site.deploy("shop");
    await site.report(id, "preflights-failed");
    await site.call("POST", `/v1/deployments/${id}/retry`);
    await site.report(id, "running");
    const variables = [{ name: "A", value: "1", type: "plain" }];
    await site.call("PATCH", `/v1/deployments/${id}/environment-variables`, { body: { variables } });
    expectRead(DEPLOYMENT, await site.call("GET", `/v1/deployments/${id}`));
    const { body } = await site.call("GET", "/v1/deployments");
    for (const each of body.items) expect([each.managerId, each.setupMethod]).not.toContain(null);
    expectRead(EVENTS, await site.call("GET", "/v1/events", { query: { deploymentId: id } }));
    const resource = `/v1/resources/container/deployments/${id}/web`;
    const current = { releaseId: body.items[0].desiredReleaseId };
    if (current.releaseId !== null) await site.report(id, "running", {}, { currentRelease: current });
    const stackState = {
      platform: "kubernetes",
      resourcePrefix: "p",
      resources: { web: { type: "container", status: "running", config: {} } },
    };
    await site.report(id, "updating", {}, { stackState });
    expectRead(RESOURCE, await site.call("GET", resource, { query: { project: site.project.id } }));
    const reported = await site.report(id, "running");
    expectRead(
      open({ success: Type.Boolean(), current: open({}), target: maybe(open({ config: open({}) })) }),
      reported,
    );
    const acquired = await site.sync("acquire", { session: "s", requestId: "r", deploymentModel: "pull" });
    expectRead(open({ deployments: Type.Array(open({ setupMethod: maybe(text) })) }), acquired);
  });

  it("who made a key or a release", async () => {
    const site = await newSite(world);
    const ada = await world.user({ name: "Ada" });
    await site.workspace.member(ada, "workspace.admin");
    const query = { workspace: site.workspace.name };
    const scope = { type: "workspace", role: "workspace.viewer" };
    const mint = { description: "of Ada", scope };
    await world.call("POST", "/v1/api-keys", { key: ada.token, query, body: mint });
    const keys = await world.call("GET", "/v1/api-keys", { key: ada.token, query });
    const each = open({ id: text, createdByUser: Type.Union([creator, Type.Null()]) });
    expectRead(open({ items: Type.Array(each) }), keys);
    expect(keys.body.items[0].createdByUser).toMatchObject({ id: ada.id });
    const body = { project: site.project.id, stack: { kubernetes: STACK } };
    const made = await world.call("POST", "/v1/releases", { key: ada.token, query, body });
    const read = await world.call("GET", `/v1/releases/${made.body.id}`, { key: ada.token, query });
    expectRead(open({ createdBy: open({ ...creator.properties, name: text }) }), read);
    expect(read.body.createdBy.name).toBe("Ada");
  });

  it("channels and resources without naming a project", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const channels = async () => (await site.call("GET", "/v1/release-channels")).body.items;
    expect(await channels()).toMatchObject([{ name: "production", projectId: site.project.id }]);
    expect((await site.call("POST", "/v1/release-channels", { body: { name: "beta" } })).status).toBe(201);
    expect((await site.call("DELETE", "/v1/release-channels/beta")).status).toBe(204);
    expect((await site.call("GET", "/v1/resources")).body).toEqual({ resources: [] });
    expect((await site.call("GET", "/v1/resources/container")).body).toEqual({ resources: [] });
    const other = (await site.call("POST", "/v1/projects", { body: { name: "another" } })).body;
    expect((await channels()).map((row: { projectId: string }) => row.projectId).sort()).toEqual(
      [site.project.id, other.id].sort(),
    );
    const several = await site.call("POST", "/v1/release-channels", { body: { name: "beta" } });
    expect(several.body.code).toBe("PROJECT_REQUIRED");
    expect((await site.call("GET", `/v1/resources/container/deployments/${id}/none`)).body.code).toBe("NOT_FOUND");
    const promoted = await site.call("POST", "/v1/release-channels/production/promote", {
      body: { releaseId: `rel_${"0".repeat(28)}` },
    });
    expect(promoted.body.code).toBe("PROJECT_REQUIRED");
  });
});

onEachDatabase("strangers may send", (world) => {
  it("a worker's heartbeat with what other reporters know, and reads it again", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const at = world.clock.wallNow().toISOString();
    const status = { health: "healthy", lifecycle: "running", message: null, partial: false, stale: false };
    const data = {
      ...{ status: { ...status, collectionIssues: [] }, backend: "kubernetes", namespace: "shop", name: "w" },
      ...{ replicas: {}, pods: [], events: [], triggerCount: 1, workloadKind: "deployment", generation: 7 },
    };
    const kind = { resourceId: "w", resourceType: "worker", controllerPlatform: "kubernetes", backend: "kubernetes" };
    const heartbeat = { ...kind, observedAt: at, deploymentId: null, data: { resourceType: "worker", data }, raw: [] };
    const told = await site.report(id, "running", { resourceHeartbeats: [heartbeat] });
    expect(told.status, JSON.stringify(told.body)).toBe(200);
    const { body } = await site.call("GET", `/v1/resources/worker/deployments/${id}/w`);
    expect(body.heartbeat.heartbeat.data.data).toMatchObject({ workloadKind: "deployment", generation: 7 });
  });

  it("settings with empty sections, pools without a machine and secrets without a namespace", async () => {
    const site = await newSite(world);
    const certificate = { kubernetes: { tlsSecretRef: { secretName: "tls" } }, aws: null, azure: null, gcp: null };
    const stackSettings = {
      ...{ compute: { pools: { default: { mode: "fixed", machines: 2 } } }, network: null, externalBindings: null },
      ...{ kubernetes: { cluster: null, exposure: null }, telemetry: null, updates: null, publicEndpoints: null },
      domains: { customDomains: { web: { domain: "shop.example.com", certificate } }, publicEndpointTarget: null },
    };
    const id = await site.deploy("shop", { stackSettings });
    expect((await site.call("GET", `/v1/deployments/${id}`)).body.stackSettings.domains).toEqual(stackSettings.domains);
    const kept = (await site.call("GET", `/v1/deployments/${id}`)).body.stackSettings;
    expect(Object.keys(kept).sort()).toEqual(["compute", "domains", "kubernetes"]);
    const synced = await site.sync("context", { deploymentId: id });
    expect(synced.status, JSON.stringify(synced.body)).toBe(200);
  });

  it("what is unset, without setting aside what a link allows", async () => {
    const site = await newSite(world);
    const stackSettings = { defaults: { telemetry: "off" }, allowedTelemetryModes: ["off"] };
    const key = await token(site, {}, { stackSettings });
    const body = { name: "shop", platform: "kubernetes", stackSettings: { telemetry: null } };
    const made = await world.call("POST", "/v1/deployments", { key, body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { stackSettings: kept } = (await site.call("GET", `/v1/deployments/${made.body.deployment.id}`)).body;
    expect(kept).toEqual({ telemetry: "off" });
  });

  it.each(["git-host", "github", "gitlab"])(
    "the host of a repository in its own word, %s, and reads it again",
    async (type) => {
      const site = await newSite(world);
      const body = { project: site.project.id, gitMetadata: { provider: { type, org: "acme", repo: "shop" } } };
      const made = await site.call("POST", "/v1/releases", { body });
      expect([made.status, made.body.gitMetadata?.provider?.type], JSON.stringify(made.body)).toEqual([201, type]);
      const gitRepository = { type, repo: "acme/shop" };
      const patched = await site.call("PATCH", `/v1/projects/${site.project.id}`, { body: { gitRepository } });
      expect(patched.body.gitRepository).toEqual(gitRepository);
    },
  );

  it.each(["git-host", "github", "hacker-news", "reddit"])("where they heard of it, %s", async (acquisitionSource) => {
    const { token: key } = await world.user();
    const body = { name: "Ada", company: "Acme", acquisitionSource };
    const told = await world.call("POST", "/v1/user/profile/setup", { key, body });
    expect([told.status, told.body.acquisitionSource]).toEqual([200, acquisitionSource]);
  });

  it("a manager nowhere on Earth, and is told what a region is", async () => {
    const site = await newSite(world);
    const body = { name: "ours", cloud: "aws", region: "mars-1" };
    const answer = await world.call("POST", "/v1/managers", { key: site.admin, body });
    expect(answer.body).toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("eu-central-1") });
  });

  it("a debug session without an owner", async () => {
    const site = await newSite(world);
    const deploymentId = await site.deploy("shop");
    const expiresAt = new Date(world.clock.wallNow().getTime() + 600_000).toISOString();
    const body = { deploymentId, expiresAt, owner: null };
    expect((await world.call("POST", "/v1/debug-sessions", { key: site.manager.key, body })).status).toBe(201);
  });
});

async function token(site: Site, more: object, limits: object = {}): Promise<string> {
  const wanted = { allowedPlatforms: ["kubernetes", "aws"], allowedSetupMethods: ["helm", "cli"], ...limits };
  const environmentVariables = [{ name: "A", value: "1", type: "plain" }];
  const body = { deploymentSetupConfig: { metadata: {}, policy: wanted, environmentVariables }, ...more };
  const answer = await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.token;
}

async function ownToken(world: World, site: Site): Promise<string> {
  const id = await site.deploy("own");
  const answer = await world.call("POST", `/v1/deployments/${id}/token`, {
    key: site.admin,
    body: { description: null },
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.token;
}
