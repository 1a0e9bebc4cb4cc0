import { describe, expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { type BundleStorage, readMetadata } from "./bundle.ts";
import { catalogueOf, findOperation } from "./catalogue.ts";
import { enablePlugin, registerPlugin, uploadUrl } from "./plugins.ts";
import { insertProject } from "./testing/site.ts";

const plugin = { name: "shop", version: "1.0.0", tier: "mutating" } as const;
const NOW = new Date("2026-03-01T12:00:00.000Z");
const operation = (change: object = {}) => ({ name: "reindex", ...change });
const metadata = (change: object = {}) => ({ name: "shop", version: "1.0.0", operations: [operation()], ...change });

function issuesOf(value: unknown): readonly string[] {
  try {
    readMetadata(value, plugin);
    return [];
  } catch (error) {
    const { code, detail } = error as { code: string; detail: { context: { issues: { path: string }[] } } };
    expect(code).toBe("PLUGIN_METADATA_INVALID");
    return detail.context.issues.map(({ path }) => path);
  }
}

describe("a bundle's metadata", () => {
  const schema = (paramsSchema: unknown) => metadata({ operations: [operation({ paramsSchema })] });
  const atSchema = "metadata/operations/0/paramsSchema";
  it.each<[string, unknown, string | undefined]>([
    ["sound", metadata({ binaries: { amd64: "shop" }, homepage: "kept" }), undefined],
    ["nothing", undefined, "metadata"],
    ["a list", [], "metadata"],
    ["no operations", metadata({ operations: [] }), "metadata/operations"],
    ["another plugin", metadata({ name: "other" }), "metadata/name"],
    ["another version", metadata({ version: "1.0.1" }), "metadata/version"],
    ["a bad operation name", metadata({ operations: [operation({ name: "Re Index" })] }), "metadata/operations/0/name"],
    ["one operation twice", metadata({ operations: [operation(), operation()] }), "metadata/operations/1/name"],
    ["an unknown tier", metadata({ operations: [operation({ tier: "mild" })] }), "metadata/operations/0/tier"],
    [
      "a description that hides text",
      metadata({ operations: [operation({ description: "a\u202eb" })] }),
      "metadata/operations/0/description",
    ],
    [
      "a params schema",
      schema({ type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "string" } } }),
      undefined,
    ],
    ["a schema of something else", schema({ type: "string" }), atSchema],
    ["a remote reference", schema({ type: "object", properties: { a: { $ref: "https://example.com/s" } } }), atSchema],
    [
      "a pattern that is none",
      schema({ type: "object", properties: { a: { pattern: "(" } }, required: ["a"] }),
      atSchema,
    ],
    ["a key pattern that is none", schema({ type: "object", patternProperties: { "(": true } }), atSchema],
    ["a reference in circles", schema({ type: "object", $ref: "#" }), atSchema],
    ["a schema too large", schema({ type: "object", $comment: "x".repeat(64 * 1024) }), atSchema],
  ])("%s", (_, value, at) => {
    expect(issuesOf(value)).toEqual(at === undefined ? [] : expect.arrayContaining([at]));
  });

  it("an operation without a tier has the plugin's", () => {
    const read = readMetadata(
      metadata({ operations: [operation(), operation({ name: "wipe", tier: "destructive" })] }),
      plugin,
    );
    expect(read.map(({ name, tier }) => [name, tier])).toEqual([
      ["reindex", "mutating"],
      ["wipe", "destructive"],
    ]);
  });
});

onEachDatabase("a custom plugin", (world) => {
  const storage = (uploaded: unknown): BundleStorage => ({
    uploadUrl: async (projectId, name) => `https://storage.example/${projectId}/${name}`,
    metadata: async () => uploaded,
  });
  const project = async (): Promise<string> =>
    (await insertProject(world.platform.db, (await world.workspace()).id)).projectId;

  it("is uploaded, registered, replaced and stays as enabled as it was", async () => {
    const { db } = world.platform;
    const projectId = await project();
    expect(await uploadUrl(storage(undefined), projectId, "shop")).toEqual({
      uploadUrl: `https://storage.example/${projectId}/shop`,
      contentType: "application/zip",
    });
    expect(await registerPlugin(db, storage(metadata()), projectId, plugin, NOW)).toEqual({ enabled: true });
    await enablePlugin(db, projectId, "shop", false);
    const next = { ...plugin, version: "2.0.0" };
    const renamed = metadata({ version: "2.0.0", operations: [operation({ name: "rebuild" })] });
    expect(await registerPlugin(db, storage(renamed), projectId, next, NOW)).toEqual({ enabled: false });
    const catalogue = await catalogueOf(db, projectId);
    expect(catalogue.map(({ name, version, enabled }) => [name, version, enabled])).toEqual([
      ["debug", "1.0.0", true],
      ["kubernetes", "1.0.0", true],
      ["shop", "2.0.0", false],
    ]);
    expect(findOperation(catalogue, "shop", "reindex")).toBeUndefined();
    expect(findOperation(catalogue, "shop", "rebuild")?.operation.tier).toBe("mutating");
    expect(await catalogueOf(db, await project())).toHaveLength(2);
  });

  it("is refused when the archive is another plugin's, and a project has at most 64", async () => {
    const { db } = world.platform;
    const projectId = await project();
    const register = (name: string, uploaded: unknown): Promise<unknown> =>
      registerPlugin(db, storage(uploaded), projectId, { ...plugin, name }, NOW);
    await expect(register("shop", metadata({ name: "other" }))).rejects.toMatchObject({
      code: "PLUGIN_METADATA_INVALID",
    });
    for (let count = 0; count < 64; count += 1) await register(`p${count}`, metadata({ name: `p${count}` }));
    await expect(register("shop", metadata())).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    await expect(register("p63", metadata({ name: "p63" }))).resolves.toEqual({ enabled: true });
  });
});
