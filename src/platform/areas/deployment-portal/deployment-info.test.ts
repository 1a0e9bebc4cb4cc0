import { expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { release, STACK } from "../releases/testing/releases.ts";

const POLICY = { allowedPlatforms: ["kubernetes", "aws"], allowedSetupMethods: ["helm", "cli"] };
const MODEL = { publicModelId: "large-1", clientApis: ["openai-chat"], required: true };
const WEB = STACK.resources.web?.config;
const RICH = {
  ...STACK,
  inputs: [
    { id: "size", kind: "integer", label: "Size", required: true, providedBy: ["developer"] },
    { id: "password", kind: "secret", label: "Password", required: true, providedBy: ["deployer"] },
  ],
  resources: {
    ...STACK.resources,
    web: {
      ...STACK.resources.web,
      config: { ...WEB, publicEndpoints: [{ name: "api", hostLabel: "shop" }, {}] },
    },
    model: { config: { id: "model", type: "ai", modelRequirements: [MODEL, 5] }, dependencies: [], lifecycle: "live" },
    off: { config: { ...WEB, id: "off", type: "worker" }, dependencies: [], lifecycle: "live", enabledWhen: false },
  },
};

onEachDatabase(
  "deployment info",
  (world) => {
    const info = async (key: string, query: Record<string, string> = {}) =>
      world.call("GET", "/v1/deployment-info", { key, query });
    const token = async (site: Site, more: object = {}): Promise<string> => {
      const variable = { name: "TOKEN", value: "do-not-show", type: "secret" };
      const deploymentSetupConfig = { metadata: { team: "a" }, policy: POLICY, environmentVariables: [variable] };
      const body = { deploymentSetupConfig, ...more };
      const answer = await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.token;
    };
    const configure = (site: Site, body: object) => site.call("PATCH", `/v1/projects/${site.project.id}`, { body });
    const build = async (site: Site, type: string, end: object): Promise<void> => {
      const builder = { builderId: "b" };
      const lease = { ...builder, types: [type] };
      const taken = await world.call("POST", "/v1/packages/lease", { key: site.admin, body: lease });
      const [{ id }] = taken.body.packages;
      const done = await world.call("POST", `/v1/packages/${id}/complete`, {
        key: site.admin,
        body: { ...builder, ...end },
      });
      expect(done.status, JSON.stringify(done.body)).toBe(200);
    };

    it("shows a group's link everything that is settled, and no value of it", async () => {
      const site = await newSite(world);
      await configure(site, {
        deploymentPortalAppearance: { title: "Shop", preset: "playful" },
        enabledCapabilities: ["deployments", "models"],
      });
      await release(site, { stack: { kubernetes: RICH } });
      const setupItems = [
        { item: "deployment", required: true },
        { item: "models", required: false },
      ];
      const key = await token(site, { setupItems, inputValues: { password: "do-not-show" } });
      const { status, body } = await info(key, { platform: "kubernetes" });
      expect(status, JSON.stringify(body)).toBe(200);
      expect(JSON.stringify(body)).not.toContain("do-not-show");
      expect(body).toMatchObject({
        tokenType: "deployment-group",
        deploymentGroup: { id: site.group.id, name: "group", pinnedSubdomain: null },
        workspace: { id: site.workspace.id, name: site.workspace.name },
        project: {
          name: site.project.name,
          portal: { appearance: { title: "Shop", preset: "playful", accentColor: "blue", density: "comfortable" } },
          stackSummary: {
            platforms: ["kubernetes"],
            requiresNetwork: true,
            customerModels: true,
            resourceCounts: {
              workers: 0,
              containers: 1,
              daemons: 0,
              publicHttpsEndpoints: 1,
              externalInfra: 2,
              total: 3,
            },
            publicEndpoints: [{ resourceId: "web", endpointName: "api", hostLabel: "shop", wildcardSubdomains: false }],
          },
        },
        installContext: {
          targets: {
            kubernetes: { managerUrl: "https://manager.example.com", managementConfig: { platform: "kubernetes" } },
          },
        },
        modelAvailabilitySources: [],
        setupItems: [
          { item: "deployment", status: "not-started", deploymentIds: [] },
          { item: "models", status: "not-started", configuration: { modelRequirements: [MODEL] } },
        ],
        setupConfig: {
          metadata: { team: "a" },
          policy: POLICY,
          environmentVariables: [{ name: "TOKEN", type: "secret" }],
          inputValues: [
            { id: "size", providedBy: ["developer"], required: true, secret: false, provided: false },
            { id: "password", providedBy: ["deployer"], required: true, secret: true, provided: true },
          ],
        },
        packages: { ready: false },
      });
      expect(body).not.toHaveProperty("deployment");
      expect(body.supportedRegions.aws).toContain("eu-central-1");
      expect(body.readiness.status).toBe("notReady");
    });

    it("follows the packages that the allowed methods need, and leaves out what is not built", async () => {
      const site = await newSite(world);
      await release(site);
      await configure(site, {
        packagesConfig: {
          cli: { enabled: true, name: "shop", displayName: "Shop", binaryTargets: ["linux-x64"] },
          helm: { enabled: true, chartName: "shop", description: "" },
          terraform: { enabled: true },
        },
      });
      const key = await token(site);
      expect((await info(key)).body).toMatchObject({ packages: { ready: false }, readiness: { status: "notReady" } });
      await site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.id } });
      const unbuilt = expect.stringMatching(/cli is failed \(This platform makes no such cli package/);
      const checks = { checks: expect.arrayContaining([expect.objectContaining({ message: unbuilt })]) };
      expect((await info(key)).body.readiness).toMatchObject(checks);
      const outputs = { type: "helm", chart: "oci://charts.example.com/shop", version: "1.0.0" };
      await build(site, "helm", { status: "ready", outputs });
      const error = { code: "PACKAGE_BUILD_FAILED", message: "no", internal: false };
      await build(site, "cli", { status: "failed", error });
      const { packages } = (await info(key)).body;
      expect(packages).toMatchObject({
        ready: false,
        cli: { status: "failed", commandName: "shop", error: { code: "PACKAGE_BUILD_FAILED" } },
        helm: {
          status: "ready",
          version: "1.0.0",
          outputs,
          chartRef: outputs.chart,
          managerFetchExample: "helm upgrade --install shop oci://charts.example.com/shop --version 1.0.0",
        },
        terraform: { status: "failed", error: { code: "PACKAGE_NO_BUILDER" }, moduleSources: {} },
      });
      expect(packages.cli).not.toHaveProperty("outputs");
      expect(packages).not.toHaveProperty("cloudformation");
      await configure(site, { packagesConfig: { helm: { enabled: true, chartName: "shop", description: "" } } });
      expect((await info(key)).body.packages).toMatchObject({ ready: true });
      // The line is the customer's word on this very deployment: with it, nothing waits to be accepted.
      const deploymentId = await site.deploy("shop");
      const scope = { type: "deployment", deploymentId, projectId: site.project.id } as const;
      const own = (await info(await site.workspace.key("deployment.viewer", scope))).body.packages.helm;
      const word = `--set 'sallyport.deployments.${deploymentId}={YOUR-NAMESPACE}'`;
      expect(own.managerFetchExample).toBe(`${packages.helm.managerFetchExample} ${word}`);
      expect(own.localImportExample).toBe(`${packages.helm.localImportExample} ${word}`);
      // A build that is on its way hides nothing that is ready.
      await site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.id } });
      expect((await info(key)).body.packages).toMatchObject({
        ready: true,
        helm: { status: "ready", version: "1.0.0" },
      });
      await build(site, "helm", { status: "failed", error });
      expect((await info(key)).body.packages).toMatchObject({
        ready: true,
        helm: { status: "ready", version: "1.0.0" },
      });
    });

    it("is not ready while nothing is packaged that any allowed method could use", async () => {
      const site = await newSite(world);
      await release(site);
      const key = await token(site);
      const { packages, readiness } = (await info(key)).body;
      expect(packages).toEqual({ ready: false });
      const message = expect.stringMatching(
        /^helm is not built, operator-image is not built, cli is not built; .*packagesConfig, then rebuild$/,
      );
      expect(readiness.checks).toContainEqual(
        expect.objectContaining({ code: "packages-ready", status: "failed", message }),
      );
    });

    it("of a link without items is for the deployment, and for nothing else", async () => {
      const site = await newSite(world);
      await release(site);
      const key = await token(site);
      const plain = (await info(key)).body;
      expect((await info(key, { setupItem: "deployment" })).body.project).toEqual(plain.project);
      expect((await info(key, { setupItem: "models" })).body.code).toBe("NOT_FOUND");
    });

    it("prints no line with a chart's address that a shell could read as more", async () => {
      const site = await newSite(world);
      await release(site);
      await configure(site, { packagesConfig: { helm: { enabled: true, chartName: "shop", description: "" } } });
      const key = await token(site);
      for (const chart of ["--post-renderer=/bin/sh", "oci://x/$(id)", "oci://x/y; id"]) {
        await site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.id } });
        await build(site, "helm", { status: "ready", outputs: { type: "helm", chart, version: "1.0.0" } });
        const { helm } = (await info(key)).body.packages;
        expect(helm).toMatchObject({ status: "ready", outputs: { chart } });
        expect(helm).toMatchObject({ managerFetchExample: "", localImportExample: "" });
      }
      const named = { packagesConfig: { helm: { enabled: true, chartName: "--kubeconfig", description: "" } } };
      expect((await configure(site, named)).body.code).toBe("VALIDATION_ERROR");
    });

    it("an item waits for the required ones before it, and models for each required model", async () => {
      const site = await newSite(world);
      await configure(site, { enabledCapabilities: ["deployments", "models"] });
      await release(site, { stack: { kubernetes: { ...RICH, inputs: [] } } });
      const setupItems = [
        { item: "deployment", required: true },
        { item: "models", required: true },
      ];
      const key = await token(site, { setupItems });
      const create = async (name: string, setupItem: string): Promise<string> => {
        const body = { name, platform: "kubernetes", setupItem };
        return (await world.call("POST", "/v1/deployments", { key, body })).body.deployment.id;
      };
      const models = await create("models", "models");
      const { desiredReleaseId } = (await site.call("GET", `/v1/deployments/${models}`)).body;
      expect(desiredReleaseId).toBeNull();
      const items = async () => (await info(key)).body.setupItems;
      await site.report(models, "running");
      expect(await items()).toMatchObject([
        { item: "deployment", status: "not-started" },
        { item: "models", status: "waiting", deploymentIds: [models], blocker: { code: "DEPENDENCY_NOT_CONNECTED" } },
      ]);
      const shop = await create("shop", "deployment");
      await site.report(shop, "running");
      expect(await items()).toMatchObject([{ status: "connected", deploymentIds: [shop] }, { status: "verifying" }]);
      const model = {
        publicModelId: "large-1",
        availability: "available",
        accessTest: "verified",
        blockers: [],
        clientApis: ["open-ai-chat-completions"],
        errorCode: null,
        testedAt: null,
      };
      const status = { health: "healthy", lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
      const availability = { source: "awsBedrock", location: null, catalogRevision: "r1", models: [model] };
      const heartbeat = (more: object) => ({
        resourceId: "model",
        resourceType: "ai",
        controllerPlatform: "kubernetes",
        backend: "aws",
        observedAt: world.clock.wallNow().toISOString(),
        data: { resourceType: "ai", data: { status, backend: "awsBedrock", availability, ...more } },
        raw: [],
      });
      await site.report(models, "running", { resourceHeartbeats: [heartbeat({})] });
      expect(await items()).toMatchObject([{ status: "connected" }, { status: "connected" }]);
      const sources = async () => (await info(key)).body.modelAvailabilitySources;
      expect(await sources()).toEqual([
        {
          deploymentId: models,
          resourceId: "model",
          observedAt: expect.any(String),
          status: "current",
          availability,
        },
      ]);
      world.clock.advance(180_001);
      expect(await sources()).toMatchObject([{ status: "stale" }]);
      await site.report(models, "running", { resourceHeartbeats: [heartbeat({ availability: { models: 5 } })] });
      const [invalid] = await sources();
      expect(invalid.status).toBe("invalid");
      expect(invalid).not.toHaveProperty("availability");
      const broken = { code: "PROVISIONING_FAILED", message: "no quota", internal: false };
      await site.report(shop, "error", {}, { error: broken });
      expect((await items())[0]).toMatchObject({
        status: "needs-attention",
        blocker: { code: "PROVISIONING_FAILED", message: "no quota" },
      });
    });

    it("shows a deployment's token its own deployment, and no setup of the group's", async () => {
      const site = await newSite(world);
      await release(site);
      const deploymentId = await site.deploy("shop");
      const scope = { type: "deployment", deploymentId, projectId: site.project.id } as const;
      const key = await site.workspace.key("deployment.viewer", scope);
      const { body } = await info(key);
      expect(body).toMatchObject({
        tokenType: "deployment",
        deployment: { name: "shop", platform: "kubernetes" },
        deploymentGroup: { id: site.group.id },
        readiness: { status: "ready" },
      });
      expect(Object.keys(body.installContext.targets)).toEqual(["kubernetes"]);
      expect(body).not.toHaveProperty("setupItems");
      expect(body).not.toHaveProperty("setupConfig");
      expect((await info(key, { platform: "aws" })).body.readiness.status).toBe("notReady");
      expect((await info(key, { setupItem: "deployment" })).status).toBe(200);
      expect((await info(key, { setupItem: "models" })).body.code).toBe("NOT_FOUND");
    });

    it("a manager's setup token sees its manager's hidden group, with nothing in it", async () => {
      const site = await newSite(world);
      const body = { name: "eu", cloud: "aws", region: "eu-central-1" };
      const { setupToken } = (await world.call("POST", "/v1/managers", { key: site.admin, body })).body;
      const answer = await info(setupToken);
      expect(answer.body).toMatchObject({
        tokenType: "deployment-group",
        project: { name: "eu" },
        packages: { ready: true },
        setupItems: [],
        setupConfig: { policy: { allowedPlatforms: ["aws"], allowedSetupMethods: ["cloudformation"] } },
      });
      expect((await info(setupToken, { setupItem: "deployment" })).body.code).toBe("NOT_FOUND");
    });

    it("is nothing for other credentials", async () => {
      const site = await newSite(world);
      const deploymentId = await site.deploy("shop");
      const scope = { type: "deployment", deploymentId, projectId: site.project.id } as const;
      const writer = await site.workspace.key("deployment.telemetry-writer", scope);
      for (const key of [site.admin, site.manager.key, writer]) {
        expect((await info(key)).body.code).toBe("WRONG_TOKEN_KIND");
      }
    });
  },
  OWN_PLATFORM,
);
