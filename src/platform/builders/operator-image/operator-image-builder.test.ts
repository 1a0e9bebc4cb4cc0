import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { isRunning } from "../../../base/testing/is-running.ts";
import { until } from "../../../base/testing/until.ts";
import { type BuildSite, configure, newBuildSite } from "../../areas/packages/testing/builds.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import {
  bundleOf,
  enable,
  metadataOf,
  OPERATOR_IMAGE,
  RULES,
  register,
  writeBase,
  writeTool,
} from "./testing/plugins.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-bake-test-"));
const held = join(folder, "held");
/** Other processes of this machine build images too, and leave their folders in the one for all. */
const temporary = join(folder, "tmp");
beforeAll(() => {
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const images = { base: writeBase(join(folder, "base")), tool: writeTool(folder), registry: undefined };

const ended = (site: BuildSite, number: number): Promise<Answer["body"]> =>
  until(async () =>
    (await site.packages({ type: "operator-image" })).find(
      ({ version, status }) => version === `1.0.${number}` && status !== "pending" && status !== "building",
    ),
  );

onEachDatabase(
  "the builder of operators' images",
  (world) => {
    const newSite = async (): Promise<BuildSite> => newBuildSite(world, OPERATOR_IMAGE);
    const search = metadataOf("search");

    it("bakes the plugins that are enabled, and again after each change that matters", async () => {
      const site = await newSite();
      await register(site, search, bundleOf(search));
      const first = await ended(site, 0);
      expect(first).toMatchObject({
        status: "ready",
        sourceReleaseId: null,
        config: { plugins: [{ name: "search", version: "1.0.0", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] },
        outputs: {
          digest: expect.stringMatching(/^sha256:/),
          archive: expect.stringMatching(/\/images\/pkg_\w+\/[\w-]+\/operator-image-1\.0\.0\.tar$/),
          plugins: {
            search: {
              version: "1.0.0",
              operations: { reindex: { enabled: true, tier: "mutating", rules: RULES } },
            },
          },
        },
      });
      expect(first.outputs.image).toBe(first.outputs.archive);
      const archive = Buffer.from(await (await fetch(first.outputs.archive)).arrayBuffer()).toString("latin1");
      for (const word of ["opt/sallyport/plugins/search/metadata.json", "opt/sallyport/plugins/search/plugin.mjs"]) {
        expect(archive).toContain(word);
      }

      await enable(site, "search", false);
      const without = await ended(site, 1);
      expect(without).toMatchObject({ status: "ready", config: { plugins: [] }, outputs: { plugins: {} } });
      expect(without.packageBuildInputHash).not.toBe(first.packageBuildInputHash);
      expect(without.outputs.digest).not.toBe(first.outputs.digest);

      // The same plugins again: the same inputs, and the same image.
      await enable(site, "search", true);
      const again = await ended(site, 2);
      expect(again.packageBuildInputHash).toBe(first.packageBuildInputHash);
      expect(again.outputs.digest).toBe(first.outputs.digest);
      await enable(site, "search", true);
      expect(await site.packages({ type: "operator-image" })).toHaveLength(3);

      // Another bundle under the same name and version.
      await register(site, search, bundleOf(search, "export default { reindex: {} };\n"));
      expect((await ended(site, 3)).outputs.digest).not.toBe(first.outputs.digest);
    });

    it("keeps the archives of the newest images, and names no other", async () => {
      const site = await newSite();
      for (const version of ["1.0.0", "1.0.1", "1.0.2", "1.0.3"]) {
        const metadata = metadataOf("search", version);
        await register(site, metadata, bundleOf(metadata));
        await ended(site, Number(version.slice(-1)));
      }
      const archives = (await site.packages({ type: "operator-image" })).map(({ outputs }) => outputs.archive);
      expect(archives.map((archive) => archive !== undefined)).toEqual([true, true, true, false]);
      for (const archive of archives.slice(0, 3)) expect((await fetch(archive)).status).toBe(200);
    });

    it("bakes no bundle without a module: that is for an operator of the vendor's own", async () => {
      const site = await newSite();
      const own = { name: "own", version: "1.0.0", operations: [{ name: "do" }] };
      await register(site, own, bundleOf(own));
      expect(await ended(site, 0)).toMatchObject({ status: "ready", outputs: { plugins: {} } });
    });

    it("refuses a module that unpacks to more than 1 MiB, with words, and builds the next", async () => {
      const [bad, good] = [await newSite(), await newSite()];
      await register(bad, search, bundleOf(search, Buffer.alloc(9 * 1024 ** 2)));
      await register(good, search, bundleOf(search));
      expect(await ended(bad, 0)).toMatchObject({
        status: "failed",
        error: {
          code: "PACKAGE_BUILD_FAILED",
          message: expect.stringMatching(/^plugin search cannot be baked: its bundle has a plugin\.mjs over 1 MiB/),
        },
      });
      expect(await ended(good, 0)).toMatchObject({ status: "ready" });
    });

    it("a cancellation and a change of plugins kill the process that works for it", async () => {
      const site = await newSite();
      writeFileSync(held, "");
      // Else the next test waits for a build that never ends.
      onTestFinished(() => rmSync(held, { force: true }));
      const stuck = async (number: number): Promise<{ readonly id: string; readonly pid: number }> =>
        until(async () => {
          const found = (await site.packages({ type: "operator-image" })).find(
            ({ version, status }) => version === `1.0.${number}` && status === "building",
          );
          if (found === undefined) return undefined;
          try {
            const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
            return isRunning(pid) ? { id: found.id, pid } : undefined;
          } catch {
            return undefined;
          }
        });
      rmSync(join(folder, "pid"), { force: true });
      await register(site, search, bundleOf(search));
      const first = await stuck(0);
      await site.call("POST", `/v1/packages/${first.id}/cancel`);
      await until(async () => !isRunning(first.pid));
      expect(await ended(site, 0)).toMatchObject({ status: "canceled" });

      await enable(site, "search", false);
      const second = await stuck(1);
      await enable(site, "search", true);
      await until(async () => !isRunning(second.pid));
      expect(await ended(site, 1)).toMatchObject({ status: "canceled" });
      const third = await stuck(2);
      await site.call("POST", `/v1/packages/${third.id}/cancel`);
      await until(async () => !isRunning(third.pid));
    });

    it("gives the process no environment, and leaves no folder", async () => {
      const site = await newSite();
      await register(site, search, bundleOf(search));
      await ended(site, 0);
      const names = readFileSync(join(folder, "env"), "utf8").match(/^\w+(?==)/gm) ?? [];
      // What a shell itself adds.
      expect(names.filter((name) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(name))).toEqual([]);
      await until(async () =>
        (await readdir(temporary)).some((name) => name.startsWith("sallyport-image-")) ? undefined : true,
      );
    });

    it("is not asked for where the package type is switched off", async () => {
      const site = await newSite();
      await configure(site, { operatorImage: { ...OPERATOR_IMAGE.operatorImage, enabled: false } });
      await register(site, search, bundleOf(search));
      expect(await site.packages({ type: "operator-image" })).toEqual([]);
    });
  },
  { objects: { folder: join(folder, "objects") }, images },
);
