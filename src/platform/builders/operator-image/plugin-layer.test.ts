import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ZipEntry, zip } from "../../areas/operations/testing/zip.ts";
import { readTar } from "../../kernel/tar.ts";
import { ObjectFolder } from "../../objects/object-folder.ts";
import { UnbuildableError } from "../runner.ts";
import { type BakedPlugin, writePluginLayer } from "./plugin-layer.ts";
import { valuesOf } from "./plugin-values.ts";
import { bundleOf, MODULE, metadataOf } from "./testing/plugins.ts";

const root = mkdtempSync(join(tmpdir(), "sallyport-layer-test-"));
const store = new ObjectFolder(join(root, "objects"), Buffer.alloc(32), () => "http://127.0.0.1");
const never = new AbortController().signal;
beforeAll(() => store.open());
afterAll(() => rmSync(root, { recursive: true, force: true }));

let stored = 0;
async function plugin(name: string, bytes: Uint8Array = bundleOf(metadataOf(name))): Promise<BakedPlugin> {
  stored += 1;
  const key = `plugins/prj/${name}/${stored}.zip`;
  await store.put(key, bytes, "application/zip", never);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { name, metadata: metadataOf(name), bundle: { key, sha256, size: bytes.length } };
}

async function layerOf(plugins: readonly BakedPlugin[]): Promise<string> {
  const path = join(await mkdtemp(join(root, "layer-")), "layer.tar");
  await writePluginLayer(path, plugins, store, never);
  return path;
}

describe("the layer of plugins", () => {
  it("has the metadata and the module of each, at the operator's path, and nothing else of a bundle", async () => {
    const more: readonly ZipEntry[] = [
      { name: "metadata.json", content: "{}" },
      { name: "plugin.mjs", content: MODULE },
      { name: "bin/surplus", content: "x" },
    ];
    const layer = await layerOf([await plugin("billing"), await plugin("search", zip(more))]);
    const files: Record<string, string> = {};
    const take = async (file: { readonly name: string }, content: AsyncIterable<Uint8Array>): Promise<void> => {
      files[file.name] = await text(content);
    };
    await readTar(layer, () => true, take, never);
    expect(Object.keys(files)).toEqual(
      ["billing", "search"].flatMap((name) =>
        ["metadata.json", "plugin.mjs"].map((file) => `opt/sallyport/plugins/${name}/${file}`),
      ),
    );
    expect(files["opt/sallyport/plugins/search/plugin.mjs"]).toBe(MODULE);
    // As it was registered, and not as the bundle has it.
    expect(JSON.parse(files["opt/sallyport/plugins/search/metadata.json"] ?? "")).toEqual(metadataOf("search"));
  });

  it("is the same bytes for the same plugins, in any order of the keys in their metadata", async () => {
    const one = await plugin("search");
    const turned = Object.fromEntries(Object.entries(metadataOf("search")).reverse());
    const [first, second] = [await layerOf([one]), await layerOf([{ ...one, metadata: turned }])];
    expect(await readFile(second)).toEqual(await readFile(first));
  });

  const entries = (...more: readonly ZipEntry[]): Buffer => zip([{ name: "metadata.json", content: "{}" }, ...more]);
  /** One byte of the module's data, or of the sum that the directory has of it, is another. */
  const damaged = (what: "data" | "sum"): Buffer => {
    const bytes = entries({ name: "plugin.mjs", content: MODULE });
    const at =
      what === "data" ? bytes.indexOf("plugin.mjs") + "plugin.mjs".length : bytes.lastIndexOf("plugin.mjs") - 30;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
    return bytes;
  };
  it.each<[string, Uint8Array, string]>([
    ["has no module", entries(), "has no plugin.mjs"],
    ["has a bomb for a module", entries({ name: "plugin.mjs", content: Buffer.alloc(9 * 1024 ** 2) }), "over 1 MiB"],
    [
      "has a module that is a link",
      entries({ name: "plugin.mjs", content: "/etc/passwd", mode: 0o120777 }),
      "is a link",
    ],
    ["leaves its folder", entries({ name: "../plugin.mjs", content: "" }), "its bundle"],
    ["is encrypted", entries({ name: "plugin.mjs", content: "x", flags: 1 }), "is encrypted"],
    ["has the module twice", entries(...[1, 2].map(() => ({ name: "plugin.mjs", content: "x" }))), "is there twice"],
    ["is no archive", Buffer.from("not a zip"), "its bundle"],
    [
      "states a smaller module than it has",
      entries({ name: "plugin.mjs", content: Buffer.alloc(1024 ** 2), claimedSize: 10 }),
      "has a plugin.mjs that is damaged",
    ],
    ["has a module that does not unpack", damaged("data"), "has a plugin.mjs that is damaged"],
    ["has a module of another sum", damaged("sum"), "has a plugin.mjs that is damaged"],
  ])("takes no bundle that %s", async (_, bytes, words) => {
    const failed = await layerOf([await plugin("search", bytes)]).catch((error) => error);
    expect(failed).toBeInstanceOf(UnbuildableError);
    expect(failed.message).toContain("plugin search cannot be baked");
    expect(failed.message).toContain(words);
  });

  it("takes no bundle that is not the registered one, nor one that is gone", async () => {
    const one = await plugin("search");
    const { bundle } = one;
    if (bundle === null) throw new Error("no bundle");
    await store.put(bundle.key, bundleOf(metadataOf("search"), "evil\n"), "application/zip", never);
    await expect(layerOf([one])).rejects.toThrow("is not the one that was registered");
    await store.remove(bundle.key, never);
    await expect(layerOf([one])).rejects.toThrow("is not there any more");
    await expect(layerOf([{ ...one, bundle: null }])).rejects.toThrow("was not kept");
  });

  it("holds 64 MiB at most", async () => {
    const one = await plugin("search", bundleOf(metadataOf("search"), Buffer.alloc(1024 ** 2)));
    const many = Array.from({ length: 64 }, (_, at) => ({ ...one, name: `search-${at}` }));
    await expect(layerOf(many)).rejects.toThrow("larger than 64 MiB");
  });
});

describe("the values of an image's plugins", () => {
  it("are not given for metadata that the rules of today refuse", async () => {
    const metadata = { ...metadataOf("search"), operations: [] };
    expect(() => valuesOf([{ name: "search", metadata, bundle: null }])).toThrow("plugin search cannot be baked");
  });

  it("are 64 KiB at most", () => {
    const [operation] = metadataOf("search").operations;
    const long = Array.from({ length: 16 }, (_, at) => ({
      apiGroups: ["apps"],
      resources: Array.from({ length: 16 }, (__, n) => `a${"x".repeat(60)}${at}${n}`),
      verbs: ["get"],
    }));
    const plugins = Array.from({ length: 5 }, (_, at) => {
      const name = `search-${at}`;
      return { name, metadata: { ...metadataOf(name), operations: [{ ...operation, rules: long }] }, bundle: null };
    });
    expect(Object.keys(valuesOf(plugins.slice(0, 3)))).toHaveLength(3);
    expect(() => valuesOf(plugins)).toThrow("larger than 64 KiB");
  });
});
