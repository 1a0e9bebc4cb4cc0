import { expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { promote, release } from "../releases/testing/releases.ts";
import { BUILD_ERROR, type BuildSite, configure, HELM, newBuildSite } from "./testing/builds.ts";

/** The clock runs on by itself too. */
const HOUR_MS = 3_600_000;
const CLI = { cli: { enabled: true, name: "shop", displayName: "Shop", binaryTargets: ["linux-x64"] } };
const NO_BUILDER = {
  status: "failed",
  completedAt: expect.any(String),
  error: {
    code: "PACKAGE_NO_BUILDER",
    message: "This platform makes no such cli package, and no builder outside has asked for them within a day.",
    hint: expect.stringContaining("Run a builder that leases cli packages"),
  },
};

onEachDatabase(
  "a package whose type nobody builds",
  (world) => {
    const lease = async (site: BuildSite, types?: readonly string[]) =>
      (await site.builder("lease", { builderId: "b", ...(types && { types }) })).body.packages;
    const newest = async (site: BuildSite) => (await site.packages({ type: "cli" }))[0];

    it("has failed at once, and says why; the same release adds no second", async () => {
      const site = await newBuildSite(world, CLI, { builds: [] });
      const id = await release(site, { channel: "production" });
      expect(await site.packages()).toMatchObject([NO_BUILDER]);
      expect(await site.packages({ status: "failed" })).toHaveLength(1);
      await promote(site, id);
      expect(await site.packages()).toHaveLength(1);
      expect(await site.rebuild()).toBe(1);
      expect(await site.packages()).toMatchObject([NO_BUILDER, NO_BUILDER]);
    });

    it("goes to the first builder that asks for its type: the newest one, once", async () => {
      const site = await newBuildSite(world, CLI, { builds: ["helm"] });
      await release(site, { channel: "production" });
      await site.rebuild();
      expect(await lease(site, ["helm"])).toEqual([]);
      const { id } = await newest(site);
      expect(await lease(site, ["cli"])).toMatchObject([{ id, status: "building", error: null, completedAt: null }]);
      expect(await lease(site)).toEqual([]);
      const failed = { builderId: "b", status: "failed", error: BUILD_ERROR };
      expect((await site.builder(`${id}/complete`, failed)).body).toMatchObject({ status: "failed" });
      expect(await lease(site)).toEqual([]);
    });

    it("waits while a builder of the workspace asked within a day, or a system's; another workspace's does not count", async () => {
      const [site, other] = [await newBuildSite(world, CLI, { builds: [] }), await newBuildSite(world, CLI)];
      await release(other, { channel: "production" });
      expect(await newest(other)).toMatchObject({ status: "pending", error: null });
      await release(site, { channel: "production" });
      expect(await newest(site)).toMatchObject(NO_BUILDER);
      world.clock.advance(23 * HOUR_MS);
      await other.rebuild();
      expect(await newest(other)).toMatchObject({ status: "pending" });
      const { key } = await world.platform.bootstrap.systemManager({ name: "builders" });
      const body = { builderId: "s", types: ["sandbox-bundle"] };
      expect((await world.call("POST", "/v1/packages/lease", { key, body })).status).toBe(200);
      const sandboxBundle = { enabled: true, name: "shop", displayName: "Shop" };
      await configure(site, { sandboxBundle });
      await site.rebuild();
      expect(await site.packages({ type: "sandbox-bundle" })).toMatchObject([{ status: "pending" }]);
    });

    it("has failed after a day for which its builder is gone; one that comes back takes it", async () => {
      const site = await newBuildSite(world, CLI);
      await release(site, { channel: "production" });
      world.clock.advance(23 * HOUR_MS);
      await world.platform.sweep();
      expect(await newest(site)).toMatchObject({ status: "pending" });
      world.clock.advance(HOUR_MS);
      await world.platform.sweep();
      expect(await newest(site)).toMatchObject(NO_BUILDER);
      expect(await lease(site, ["cli"])).toMatchObject([{ status: "building", error: null }]);
    });

    it("is one of a chart too, where there is no store for charts", async () => {
      const site = await newBuildSite(world, { helm: HELM }, { builds: ["cli"] });
      await release(site, { channel: "production" });
      expect(await site.packages()).toMatchObject([{ status: "failed", error: { code: "PACKAGE_NO_BUILDER" } }]);
    });
  },
  OWN_PLATFORM,
);
