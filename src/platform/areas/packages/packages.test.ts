import { expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";
import { promote, release, STACK } from "../releases/testing/releases.ts";
import { BUILD_ERROR, configure, HELM, HELM_OUTPUTS, newBuildSite } from "./testing/builds.ts";

const MINUTE_MS = 60_000;
const ALL = {
  cli: { enabled: true, name: "shop", displayName: "Shop", binaryTargets: ["linux-x64"] },
  cloudformation: { enabled: true, supportedAwsRegions: ["eu-west-1"] },
  terraform: { enabled: true, displayName: "Shop" },
  helm: HELM,
  operatorImage: { enabled: true, name: "shop-operator", displayName: "Shop" },
  sandboxBundle: { enabled: true, name: "shop", displayName: "Shop" },
};

onEachDatabase(
  "packages",
  (world) => {
    const promoteTo = async (site: Awaited<ReturnType<typeof newBuildSite>>) =>
      release(site, { channel: "production" });

    it("a release that reaches production is packaged once a type, with the config and inputs of that moment", async () => {
      const site = await newBuildSite(world, ALL);
      const one = await promoteTo(site);
      const packages = await site.packages();
      expect(packages.map(({ type }) => type).sort()).toEqual([
        "cli",
        "cloudformation",
        "helm",
        "operator-image",
        "sandbox-bundle",
        "terraform",
      ]);
      const { setupFingerprints } = (await site.call("GET", `/v1/releases/${one}`)).body;
      for (const each of packages) {
        expect(each).toMatchObject({
          status: "pending",
          version: "1.0.0",
          sourceReleaseId: one,
          retries: 0,
          outputs: null,
        });
        expect(each.setupFingerprints).toEqual(setupFingerprints);
        expect(each.packageBuildInputHash).toMatch(/^[0-9a-f]{64}$/);
        expect(each.config).not.toHaveProperty("enabled");
      }
      expect(packages.find(({ type }) => type === "operator-image").config).toEqual({
        type: "operator-image",
        name: "shop-operator",
        displayName: "Shop",
        brand: null,
        envPrefix: null,
        labelDomain: null,
        plugins: [],
      });
      await promote(site, one);
      expect(await site.packages()).toHaveLength(6);
      const two = await promoteTo(site);
      const newest = await site.packages({ type: "helm" });
      expect(newest.map(({ version, sourceReleaseId }) => [version, sourceReleaseId])).toEqual([
        ["1.0.1", two],
        ["1.0.0", one],
      ]);
      await release(site, { channel: "production", stack: undefined });
      expect(await site.packages({ type: "helm", search: "0.2" })).toHaveLength(1);
      expect(await site.packages({ search: "HELM" })).toHaveLength(3);
    });

    it("rebuild cancels what waits and queues the enabled types; without a release only the operator image", async () => {
      const site = await newBuildSite(world, {});
      const none = await site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.name } });
      expect(none.body).toEqual({ packagesCreated: 0, reason: expect.stringContaining("packagesConfig") });
      await configure(site, { helm: HELM, operatorImage: ALL.operatorImage, cli: { ...ALL.cli, enabled: false } });
      const one = await site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.name } });
      expect(one.body).toEqual({ packagesCreated: 1, reason: expect.stringMatching(/release in production: helm$/) });
      expect(await site.packages()).toMatchObject([{ type: "operator-image", sourceReleaseId: null }]);
      await promoteTo(site);
      expect(await site.rebuild()).toBe(2);
      const counts = Object.entries(Object.groupBy(await site.packages(), ({ status }) => status));
      expect(counts.map(([status, all]) => [status, all?.length]).sort()).toEqual([
        ["canceled", 3],
        ["pending", 2],
      ]);
    });

    it("the first rebuild of a project that was made with a name alone switches on what Kubernetes needs", async () => {
      const site = await newSite(world);
      const { body: project } = await site.call("POST", "/v1/projects", { body: { name: "by-its-name" } });
      const rebuilt = async () =>
        (await site.call("POST", "/v1/packages/rebuild", { body: { project: project.id } })).body;
      const body = { project: project.id, stack: { kubernetes: STACK } };
      expect((await site.call("POST", "/v1/releases", { body })).status).toBe(201);
      expect(await rebuilt()).toEqual({ packagesCreated: 2 });
      const { packagesConfig } = (await site.call("GET", `/v1/projects/${project.id}`)).body;
      expect(packagesConfig).toMatchObject({
        helm: { chartName: "by-its-name" },
        operatorImage: { name: "by-its-name" },
      });
      expect(await rebuilt()).toEqual({ packagesCreated: 2 });
    });

    it("a build is leased, tells its progress, and is ready with outputs of its type", async () => {
      const site = await newBuildSite(world);
      const releaseId = await promoteTo(site);
      const [leased] = (await site.builder("lease", { builderId: "b-1" })).body.packages;
      expect(leased).toMatchObject({ status: "building", lockedBy: "b-1", buildPhase: null, retries: 0 });
      const lastsMs = Date.parse(leased.leaseExpiresAt) - Date.parse(leased.lockedAt);
      expect(lastsMs).toBe(10 * MINUTE_MS);
      expect((await site.builder("lease", { builderId: "b-2" })).body.packages).toEqual([]);
      world.clock.advance(MINUTE_MS);
      const event = { type: "PushingImage", image: "shop:1", progress: null };
      const renewed = await site.builder(`${leased.id}/progress`, {
        builderId: "b-1",
        buildPhase: "publishing",
        event,
      });
      expect(Date.parse(renewed.body.leaseExpiresAt)).toBeGreaterThan(Date.parse(leased.leaseExpiresAt));
      const end = (more: object) =>
        site.builder(`${leased.id}/complete`, { builderId: "b-1", status: "ready", ...more });
      const outputs = { path: "body.outputs", message: "is required when status is ready" };
      expect((await end({})).body.context.issues).toEqual([outputs]);
      const wrong = await end({ outputs: { type: "helm", chart: "x" } });
      expect(wrong.body.context.issues).toMatchObject([
        { path: "body.outputs.version", message: "of a helm package is required" },
      ]);
      expect((await end({ outputs: { ...HELM_OUTPUTS, type: "cli" } })).body.code).toBe("VALIDATION_ERROR");
      const done = await end({ outputs: HELM_OUTPUTS, sourceBinarySha256: "A".repeat(64) });
      expect(done.body).toMatchObject({
        status: "ready",
        outputs: HELM_OUTPUTS,
        sourceBinarySha256: "a".repeat(64),
        leaseExpiresAt: null,
        lockedBy: "b-1",
      });
      expect((await end({ outputs: HELM_OUTPUTS })).body).toEqual(done.body);
      expect((await end({ status: "failed", error: BUILD_ERROR })).body.code).toBe("LEASE_LOST");
      const { items } = (await site.call("GET", "/v1/events", { query: { releaseId } })).body;
      const about = items.filter(({ data }: { data: { packageId?: string } }) => data.packageId === leased.id);
      const told = about.map(({ data, state }: { data: { type: string }; state: string }) => [data.type, state]);
      expect(told.sort()).toEqual([
        ["Finished", "success"],
        ["LoadingConfiguration", "success"],
        ["PushingImage", "success"],
      ]);
    });

    it("a failed build keeps its error, which is hidden from most when it is internal", async () => {
      const site = await newBuildSite(world);
      await promoteTo(site);
      const [{ id }] = (await site.builder("lease", { builderId: "b" })).body.packages;
      const error = { ...BUILD_ERROR, message: "canary-detail", internal: true };
      const failed = await site.builder(`${id}/complete`, { builderId: "b", status: "failed", error });
      expect(failed.body).toMatchObject({ status: "failed", error: { message: "canary-detail" } });
      const seen = (await site.call("GET", `/v1/packages/${id}`)).body;
      expect(seen.error).toMatchObject({ code: "INTERNAL_ERROR", internal: true });
      expect(JSON.stringify(seen)).not.toContain("canary");
      expect((await site.call("POST", `/v1/packages/${id}/cancel`)).body).toMatchObject({
        code: "INVALID_STATE_TRANSITION",
        context: { from: "failed", to: "canceled", allowed: [] },
      });
    });

    it("of fifty builders each package goes to one", async () => {
      const site = await newBuildSite(world, ALL);
      await promoteTo(site);
      const leased = await Promise.all(
        Array.from({ length: 50 }, async (_, n) => {
          for (;;) {
            const answer = await site.builder("lease", { builderId: `b-${n}`, limit: 1 + (n % 3) });
            if (answer.body.code !== "CONFLICT") return answer.body.packages.map(({ id }: { id: string }) => id);
          }
        }),
      );
      expect(leased.flat()).toHaveLength(6);
      expect(new Set(leased.flat()).size).toBe(6);
    });

    it("a builder gets the types it asks for, the oldest first, and a silent one loses its package to the next", async () => {
      const site = await newBuildSite(world, ALL);
      await promoteTo(site);
      const lease = async (builderId: string, types?: string[]) =>
        (await site.builder("lease", { builderId, ...(types && { types }) })).body.packages;
      expect(await lease("b", [])).toEqual([]);
      const [first] = await lease("b-1", ["helm", "terraform"]);
      const [second] = await lease("b-2", ["helm", "terraform"]);
      expect([first.type, second.type].sort()).toEqual(["helm", "terraform"]);
      world.clock.advance(10 * MINUTE_MS);
      // Late, but nobody has taken it: still its own.
      expect((await site.builder(`${second.id}/progress`, { builderId: "b-2", buildPhase: "building" })).status).toBe(
        200,
      );
      const [again] = await lease("b-3", ["helm", "terraform"]);
      expect(again).toMatchObject({ id: first.id, retries: 1, lockedBy: "b-3" });
      const late = await site.builder(`${first.id}/progress`, { builderId: "b-1", buildPhase: "building" });
      expect([late.status, late.body.code]).toEqual([409, "LEASE_LOST"]);
    });

    it("after three retries a silent build has failed to every reader, before and after the sweep", async () => {
      const site = await newBuildSite(world);
      await promoteTo(site);
      let id = "";
      for (let retries = 0; retries <= 3; retries += 1) {
        const [leased] = (await site.builder("lease", { builderId: "b" })).body.packages;
        expect(leased.retries).toBe(retries);
        id = leased.id;
        world.clock.advance(10 * MINUTE_MS);
      }
      const lost = { status: "failed", error: { code: "PACKAGE_BUILD_ABANDONED" }, leaseExpiresAt: null };
      expect((await site.call("GET", `/v1/packages/${id}`)).body).toMatchObject(lost);
      expect(await site.packages({ status: "failed" })).toMatchObject([{ id }]);
      expect(await site.packages({ status: "building" })).toEqual([]);
      expect((await site.builder(`${id}/progress`, { builderId: "b", buildPhase: "building" })).body.code).toBe(
        "LEASE_LOST",
      );
      expect((await site.call("POST", `/v1/packages/${id}/cancel`)).body.code).toBe("INVALID_STATE_TRANSITION");
      const seen = (await site.call("GET", `/v1/packages/${id}`)).body;
      expect((await site.builder("lease", { builderId: "b" })).body.packages).toEqual([]);
      expect({ ...(await site.call("GET", `/v1/packages/${id}`)).body, updatedAt: "" }).toEqual({
        ...seen,
        updatedAt: "",
      });
    });

    it("a system manager builds for every workspace, a private one and another workspace's admin for none of them", async () => {
      const [site, other] = [await newBuildSite(world), await newBuildSite(world)];
      await promoteTo(site);
      const [{ id }] = await site.packages();
      const system = await world.platform.bootstrap.systemManager({ name: "builders" });
      const ask = (key: string) =>
        world.call("POST", "/v1/packages/lease", { key, body: { builderId: "b", limit: 10 } });
      expect((await ask(site.manager.key)).body.packages).toEqual([]);
      expect((await ask(other.admin)).body.packages).toEqual([]);
      const leased: string[] = [];
      // Other tests have left work in their workspaces.
      for (let more = true; more; ) {
        const ids = (await ask(system.key)).body.packages.map((each: { id: string }) => each.id);
        leased.push(...ids);
        more = ids.length > 0;
      }
      expect(leased).toContain(id);
      const body = { builderId: "b", buildPhase: "building" };
      for (const [key, status] of [
        [site.manager.key, 404],
        [other.admin, 404],
        [site.admin, 200],
        [system.key, 200],
      ] as const) {
        expect((await world.call("POST", `/v1/packages/${id}/progress`, { key, body })).status).toBe(status);
      }
      expect((await other.call("GET", `/v1/packages/${id}`)).status).toBe(404);
    });
  },
  OWN_PLATFORM,
);
