import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { until } from "../../../base/testing/until.ts";
import { type BuildSite, newBuildSite } from "../../areas/packages/testing/builds.ts";
import { release, STACK } from "../../areas/releases/testing/releases.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-charts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CHART = { files: { "templates/a.yaml": "a: 1\n" } };
const withChart = (chart: unknown) => ({ stack: { kubernetes: { ...STACK, chart } } });

onEachDatabase(
  "the platform's own builder",
  (world) => {
    /** The builder works on real time; the answers are ours. */
    const newest = (site: BuildSite, ...statuses: readonly string[]): Promise<Answer["body"]> =>
      until(async () => {
        const [found] = await site.packages({ type: "helm" });
        return statuses.includes(found?.status) ? found : undefined;
      });

    it("builds the chart of a release that reaches production, as builders outside do", async () => {
      const site = await newBuildSite(world);
      await release(site, withChart(CHART));
      const built = await newest(site, "ready", "failed");
      expect(built).toMatchObject({
        status: "ready",
        lockedBy: expect.stringMatching(/^platform-/),
        leaseExpiresAt: null,
        retries: 0,
        outputs: {
          type: "helm",
          version: "1.0.0",
          chart: expect.stringMatching(/\/charts\/pkg_.*\/shop-1\.0\.0\.tgz$/),
        },
      });
      const { items } = (await site.call("GET", "/v1/events", { query: { project: site.project.id } })).body;
      const types = items.filter((event: Answer["body"]) => event.data.packageId === built.id);
      expect(types.map((event: Answer["body"]) => event.data.type).reverse()).toEqual([
        "LoadingConfiguration",
        "BuildingStack",
        "PushingStack",
        "Finished",
      ]);
      expect(types.every((event: Answer["body"]) => event.state === "success")).toBe(true);
    });

    it("says what is wrong with a chart, and goes on with the next", async () => {
      const [bad, good] = [await newBuildSite(world), await newBuildSite(world)];
      await release(bad, withChart({ files: { "../escape": "" } }));
      await release(good, withChart(CHART));
      expect(await newest(bad, "failed", "ready")).toMatchObject({
        status: "failed",
        outputs: null,
        error: { code: "PACKAGE_BUILD_FAILED", message: '"../escape" cannot be a path in a chart' },
      });
      await newest(good, "ready");
    });

    it("leaves releases without a chart to builders outside", async () => {
      const site = await newBuildSite(world);
      await release(site);
      const other = await newBuildSite(world);
      await release(other, withChart(CHART));
      await newest(other, "ready");
      expect(await newest(site, "pending", "ready", "building")).toMatchObject({ status: "pending", lockedBy: null });
      const taken = await site.builder("lease", { builderId: "outside", types: ["helm"] });
      expect(taken.body.packages).toHaveLength(1);
    });

    it("takes up what another builder left", async () => {
      const site = await newBuildSite(world, { helm: { enabled: false, chartName: "shop", description: "" } });
      await release(site, withChart(CHART));
      const { db } = world.platform;
      await site.call("PATCH", `/v1/projects/${site.project.name}`, {
        body: { packagesConfig: { helm: { enabled: true, chartName: "shop", description: "" } } },
      });
      await db.transaction().execute(async (transaction) => {
        const { workspace, project } = site;
        const now = world.clock.wallNow();
        const stale = new Date(now.getTime() - 1);
        const { id: source_release_id } = await transaction
          .selectFrom("releases")
          .select("id")
          .where("project_id", "=", project.id)
          .executeTakeFirstOrThrow();
        const config = { type: "helm" as const, chartName: "shop", description: "" };
        await transaction
          .insertInto("packages")
          .values({
            id: `pkg_${"a".repeat(22)}${String(Date.now()).slice(-6)}`,
            workspace_id: workspace.id,
            project_id: project.id,
            type: "helm",
            number: 0,
            status: "building",
            source_release_id,
            setup_fingerprints: {},
            build_input_hash: "x",
            config,
            retries: 1,
            locked_by: "gone",
            locked_at: stale,
            lease_expires_at: stale,
            created_at: stale,
            updated_at: stale,
          })
          .execute();
      });
      expect(await newest(site, "ready")).toMatchObject({ retries: 2, lockedBy: expect.stringMatching(/^platform-/) });
    });
  },
  { objects: { folder } },
);
