import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { until } from "../../../src/base/testing/until.ts";
import { type BuildSite, newBuildSite } from "../../../src/platform/areas/packages/testing/builds.ts";
import {
  bundleOf,
  MODULE,
  metadataOf,
  OPERATOR_IMAGE,
  register,
} from "../../../src/platform/builders/operator-image/testing/plugins.ts";
import { readTar, writeTar } from "../../../src/platform/kernel/tar.ts";
import { type Answer, onEachDatabase, type World } from "../../../src/platform/testing/harness.ts";
import { writeLayout } from "./layout.ts";
import { imagePrograms, startRegistry } from "./registry.ts";

const run = promisify(execFile);
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "sallyport-baking-"));
const programs = await imagePrograms(never);
const registry = programs && (await startRegistry(programs));
afterAll(async () => {
  await registry?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ARCHITECTURES = ["amd64", "arm64"];
const base = await writeLayout(join(folder, "base"), ARCHITECTURES);

describe.skipIf(programs === undefined || registry === undefined)("operators' images by plugin-layer", () => {
  if (programs === undefined || registry === undefined) return;
  const search = metadataOf("search");
  const authFile = join(folder, "auth.json");

  const ended = (site: BuildSite): Promise<Answer["body"]> =>
    until(async () => {
      const [built] = await site.packages({ type: "operator-image" });
      return ["pending", "building"].includes(built?.status) ? undefined : built;
    });
  const bake = async (world: World): Promise<{ readonly site: BuildSite; readonly built: Answer["body"] }> => {
    const site = await newBuildSite(world, OPERATOR_IMAGE);
    await register(site, search, bundleOf(search));
    return { site, built: await ended(site) };
  };
  const logIn = (password: string): Promise<void> => {
    const auth = Buffer.from(`${registry.user}:${password}`).toString("base64");
    return writeFile(authFile, JSON.stringify({ auths: { [registry.guarded]: { auth } } }), { mode: 0o600 });
  };

  onEachDatabase(
    "pushed to a registry",
    (world) => {
      it("hold the plugins for every architecture, under the digest that the customer's values name", async () => {
        await logIn(registry.password);
        const { site, built } = await bake(world);
        expect(built).toMatchObject({
          status: "ready",
          outputs: { image: `${registry.guarded}/operators/${site.project.id}` },
        });
        const { digest, archive } = built.outputs;
        const pulled = `${registry.open}/operators/${site.project.id}@${digest}`;
        expect(
          (await registry.crane("digest", `${registry.open}/operators/${site.project.id}:1.0.0`)).toString().trim(),
        ).toBe(digest);
        await registry.crane("validate", "--remote", pulled);
        const index = JSON.parse((await registry.crane("manifest", pulled)).toString());
        expect(index.manifests.map((each: Answer["body"]) => each.platform)).toEqual(
          ARCHITECTURES.map((architecture) => ({ os: "linux", architecture })),
        );
        for (const architecture of ARCHITECTURES) {
          const platform = ["--platform", `linux/${architecture}`];
          const file = join(folder, `${architecture}.tar`);
          await registry.crane("export", ...platform, pulled, file);
          const files: Record<string, string> = {};
          await readTar(
            file,
            () => true,
            async ({ name }, content) => {
              files[name] = (await buffer(content)).toString();
            },
            never,
          );
          expect(Object.keys(files).sort()).toEqual([
            "app/main.js",
            "opt/sallyport/plugins/search/metadata.json",
            "opt/sallyport/plugins/search/plugin.mjs",
          ]);
          expect(files["app/main.js"]).toBe(`// ${architecture}\n`);
          expect(files["opt/sallyport/plugins/search/plugin.mjs"]).toBe(MODULE);
          const config = JSON.parse((await registry.crane("config", ...platform, pulled)).toString());
          expect(config).toMatchObject({ architecture, config: { User: "65532:65532" } });
          expect(config.history.map(({ created }: Answer["body"]) => created)).toEqual(
            Array(2).fill("2026-01-02T03:04:05Z"),
          );
        }

        // The archive is the same image, byte for byte where the manifest counts.
        const unpacked = await mkdtemp(join(folder, "unpacked-"));
        await writeFile(join(folder, "image.tar"), Buffer.from(await (await fetch(archive)).arrayBuffer()));
        await run("tar", ["-xf", join(folder, "image.tar"), "-C", unpacked]);
        await registry.crane("push", unpacked, `${registry.open}/loaded:1`);
        expect((await registry.crane("digest", `${registry.open}/loaded:1`)).toString().trim()).toBe(digest);
        const blobs = await readdir(join(unpacked, "blobs/sha256"));
        const layers = await Promise.all(blobs.map((name) => readFile(join(unpacked, "blobs/sha256", name))));
        const gzipped = layers.filter((bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b);
        // One layer more than the base has, shared by both architectures.
        expect(gzipped).toHaveLength(ARCHITECTURES.length + 1);
        expect(gzipped.filter((bytes) => gunzipSync(bytes).includes("opt/sallyport/plugins/search/"))).toHaveLength(1);

        const config = {
          metadata: {},
          policy: { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] },
          environmentVariables: [],
        };
        const token = await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, {
          body: { deploymentSetupConfig: config },
        });
        const info = await world.call("GET", "/v1/deployment-info", { key: token.body.token });
        expect(info.body.packages.operatorImage).toMatchObject({
          ...{ status: "ready", digest, archive },
          values: {
            image: { registry: registry.guarded, repository: `operators/${site.project.id}`, digest },
            plugins: { search: { version: "1.0.0", operations: { reindex: { enabled: true } } } },
          },
        });
      });

      it("have the same digest for the same plugins in another project", async () => {
        await logIn(registry.password);
        const [one, other] = [await bake(world), await bake(world)];
        expect(other.built.outputs.digest).toBe(one.built.outputs.digest);
        expect(other.built.outputs.image).not.toBe(one.built.outputs.image);
      });

      it("are not tried again when the registry refuses, and the password stands in no answer", async () => {
        await logIn("wrong-password-canary");
        const { site, built } = await bake(world);
        expect(built).toMatchObject({
          status: "failed",
          error: { code: "PACKAGE_BUILD_FAILED", message: "the registry refused the image: ask who runs the platform" },
        });
        const events = await site.call("GET", "/v1/events", { query: { project: site.project.id } });
        expect(JSON.stringify([built, events.body])).not.toContain("canary");
      });
    },
    {
      objects: { folder: join(folder, "objects") },
      images: {
        base,
        tool: programs.pluginLayer,
        registry: { repository: `${registry.guarded}/operators`, authFile },
      },
    },
  );

  describe("on a base", () => {
    const append = (from: string, out: string) =>
      run(programs.pluginLayer, ["append", from, join(folder, "layer.tar"), out]);

    it("that is one image, or more than one, is an index of what it has, or a refusal", async () => {
      await writeTar(join(folder, "layer.tar"), async (tar) => tar.folder("opt/"), never);
      const index = JSON.parse(await readFile(join(base, "index.json"), "utf8"));
      const [{ digest }] = index.manifests;
      const inner = JSON.parse(await readFile(join(base, "blobs/sha256", digest.slice(7)), "utf8"));
      const one = await writeLayout(join(folder, "one"), ["amd64"]);
      await writeFile(join(one, "index.json"), JSON.stringify({ ...index, manifests: [inner.manifests[0]] }));
      expect((await append(one, join(folder, "one-out"))).stdout).toMatch(/^sha256:[0-9a-f]{64}\n$/);
      const two = await writeLayout(join(folder, "two"), ["amd64"]);
      await writeFile(join(two, "index.json"), JSON.stringify({ ...index, manifests: inner.manifests.slice(0, 2) }));
      await expect(append(two, join(folder, "two-out"))).rejects.toThrow("it must name one");
    });
  });
});
