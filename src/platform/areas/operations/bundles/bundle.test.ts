import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { PLUGIN_METADATA } from "../../../../contract/openapi/examples.ts";
import { onEachDatabase } from "../../../testing/harness.ts";
import { catalogueOf, findOperation } from "../catalogue.ts";
import { customPlugins } from "../store.ts";
import { insertProject } from "../testing/site.ts";
import { type ZipEntry, zip } from "../testing/zip.ts";
import { readMetadata } from "./bundle.ts";

const plugin = { name: "shop", version: "1.0.0", tier: "mutating" } as const;
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
  const many = (count: number) => Array.from({ length: count }, (_, index) => operation({ name: `o${index}` }));
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
    ["a params schema", schema({ type: "object", properties: { a: { type: "string" } } }), undefined],
    ["a schema of something else", schema({ type: "string" }), atSchema],
    [
      "a schema with a reference",
      schema({ type: "object", properties: { a: { $ref: "#/$defs/a" } } }),
      `${atSchema}/properties/a/$ref`,
    ],
    ["operations beyond 256", metadata({ operations: many(257) }), "metadata/operations"],
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

describe("the metadata of a plugin that operators run", () => {
  const runnable = (change: object = {}, more: object = {}) => ({
    ...{ name: "shop", version: "1.0.0", tier: "mutating", module: "plugin.mjs" },
    operations: [
      {
        ...{ name: "reindex", description: "", timeLimitSeconds: 60, result: {} },
        paramsSchema: { type: "object", required: ["namespace"], properties: { namespace: { type: "string" } } },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
        ...change,
      },
    ],
    ...more,
  });

  it.each<[string, unknown, string | undefined]>([
    ["sound", runnable(), undefined],
    [
      "a right that no plugin has",
      runnable({ rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] }),
      "metadata/operations/0/rules/0",
    ],
    ["without rules", runnable({ rules: undefined }), "metadata/operations/0/rules"],
    ["another tier than it is registered with", runnable({}, { tier: "read-only" }), "metadata/tier"],
    ["another plugin", runnable({}, { name: "other" }), "metadata/name"],
    ["an unknown key", runnable({}, { binaries: {} }), "metadata/binaries"],
    ["objects without a namespace", runnable({ scope: "cluster" }), "metadata/operations/0/scope"],
  ])("%s", (_, value, at) => {
    expect(issuesOf(value)).toEqual(at === undefined ? [] : [at]);
  });

  it("needs the module in the archive", () => {
    const issues = [{ path: "metadata/module", message: "is not in the archive" }];
    expect(() => readMetadata(runnable(), plugin, new Set(["metadata.json"]))).toThrow(
      expect.objectContaining({ detail: { context: { issues } } }),
    );
    const files = new Set(["metadata.json", "plugin.mjs"]);
    expect(readMetadata(runnable(), plugin, files)).toMatchObject([{ name: "reindex", tier: "mutating" }]);
  });
});

const folder = mkdtempSync(join(tmpdir(), "sallyport-bundles-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

onEachDatabase(
  "a custom plugin",
  (world) => {
    const path = "/v1/operations/plugins";
    const archive = (content: unknown = metadata(), ...more: readonly ZipEntry[]): Buffer =>
      zip([{ name: "metadata.json", content: JSON.stringify(content) }, ...more]);
    const newProject = async () => {
      const workspace = await world.workspace();
      const { projectId: project } = await insertProject(world.platform.db, workspace.id);
      const key = await workspace.key("workspace.member");
      const call = (method: string, at: string, body: object | undefined) =>
        world.call(method, at, { key, query: { project }, body });
      const upload = async (name: string, bytes: Uint8Array): Promise<void> => {
        const { uploadUrl, contentType } = (await call("POST", `${path}/upload-url`, { name })).body;
        const headers = { "content-type": contentType };
        expect((await fetch(uploadUrl, { method: "PUT", headers, body: new Uint8Array(bytes) })).status).toBe(200);
      };
      const register = (more: object = {}) => call("POST", path, { ...plugin, ...more });
      return { project, call, upload, register };
    };

    it("is uploaded, registered, replaced and stays as enabled as it was", async () => {
      const { project, call, upload, register } = await newProject();
      expect((await register()).body.code).toBe("BUNDLE_NOT_UPLOADED");
      await upload("shop", archive(metadata({ binaries: { amd64: "bin/shop" } }), { name: "bin/shop", content: "x" }));
      for (let again = 0; again < 2; again += 1) {
        const answer = await register();
        expect([answer.status, answer.body]).toEqual([201, { ...plugin, enabled: true }]);
      }
      await call("PATCH", `${path}/shop/enabled`, { enabled: false });
      await upload("shop", archive(metadata({ version: "2.0.0", operations: [operation({ name: "rebuild" })] })));
      expect((await register({ version: "2.0.0" })).body).toMatchObject({ version: "2.0.0", enabled: false });
      const catalogue = await catalogueOf(world.platform.db, project);
      expect(catalogue.map(({ name, version, enabled }) => [name, version, enabled])).toEqual([
        ["debug", "1.0.0", true],
        ["kubernetes", "1.0.0", true],
        ["machines", "1.0.0", true],
        ["shop", "2.0.0", false],
      ]);
      expect(findOperation(catalogue, "shop", "reindex")).toBeUndefined();
      expect(findOperation(catalogue, "shop", "rebuild")?.operation.tier).toBe("mutating");
      expect(await catalogueOf(world.platform.db, (await newProject()).project)).toHaveLength(3);
    });

    it("keeps the archive that was registered, whatever is uploaded later", async () => {
      const { project, upload, register } = await newProject();
      const registered = archive();
      await upload("shop", registered);
      expect((await register()).status).toBe(201);
      await upload("shop", archive(metadata({ version: "2.0.0" })));
      const [row] = await customPlugins(world.platform.db, project);
      const { key, sha256, size } = row?.bundle ?? {};
      expect([sha256, size]).toEqual([createHash("sha256").update(registered).digest("hex"), registered.length]);
      expect(readFileSync(join(folder, key ?? ""))).toEqual(registered);
    });

    it("needs metadata in the archive only when the caller brings none", async () => {
      const { call, upload, register } = await newProject();
      await upload("shop", zip([{ name: "bin/shop" }]));
      expect((await register()).body).toMatchObject({
        code: "PLUGIN_METADATA_INVALID",
        context: { issues: [{ path: "metadata" }] },
      });
      expect((await register({ metadata: metadata() })).status).toBe(201);
      const { name, version, tier } = { ...PLUGIN_METADATA, tier: "mutating" };
      await upload(name, zip([{ name: "bin/search-amd64" }]));
      expect((await register({ name, version, tier, metadata: PLUGIN_METADATA })).status).toBe(201);
      const [reindex] = PLUGIN_METADATA.operations;
      const listed = (await call("GET", path, undefined)).body.plugins;
      expect(listed.find((each: { name: string }) => each.name === name).operations).toEqual([
        { ...reindex, tier },
        PLUGIN_METADATA.operations[1],
      ]);
      const missing = await register({ metadata: metadata({ binaries: { arm64: "bin/other" } }) });
      expect(missing.body.context.issues).toEqual([
        { path: "metadata/binaries/arm64", message: "is not in the archive" },
      ]);
    });

    it("is refused when the archive is unfit or another plugin's, and leaves the registered one", async () => {
      const { project, upload, register } = await newProject();
      await upload("shop", archive());
      await register();
      for (const bytes of [archive(metadata({ name: "other" })), Buffer.from("no archive"), zip([{ name: "../up" }])]) {
        await upload("shop", bytes);
        const { status, body } = await register();
        expect([status, body.code, body.context.issues.length]).toEqual([400, "PLUGIN_METADATA_INVALID", 1]);
      }
      expect(findOperation(await catalogueOf(world.platform.db, project), "shop", "reindex")).toBeDefined();
    });

    it.each<[string, () => object, RegExp]>([
      [
        "rules that multiply",
        () => {
          const resources = Array.from({ length: 16 }, (_, at) => `k${at}s`);
          const apiGroups = Array.from({ length: 8 }, (_, at) => `g${at}`);
          const rules = Array.from({ length: 7 }, () => ({ apiGroups, resources, verbs: ["get"] }));
          const operations = Array.from({ length: 64 }, (_, at) => ({ name: `o${at}`, rules }));
          return { ...plugin, module: "plugin.mjs", operations };
        },
        /more than 256 pairs of API group and resource in all operations/,
      ],
      [
        "a hundred thousand values",
        () => metadata({ homepage: Array.from({ length: 100_000 }, () => 0) }),
        /^has more than 16384 values$/,
      ],
    ])("of an archive with %s is refused in words", async (_, content, words) => {
      const { upload, register } = await newProject();
      await upload("shop", archive(content()));
      const { status, body } = await register();
      expect([status, body.code]).toEqual([400, "PLUGIN_METADATA_INVALID"]);
      expect(body.context.issues).toContainEqual(expect.objectContaining({ message: expect.stringMatching(words) }));
    });

    it("has no built-in's name, and a project has at most 64", async () => {
      const { call, upload, register } = await newProject();
      expect((await call("POST", `${path}/upload-url`, { name: "kubernetes" })).body.code).toBe("NAME_TAKEN");
      expect((await register({ name: "kubernetes" })).body.code).toBe("NAME_TAKEN");
      for (let count = 0; count < 65; count += 1) {
        const name = `p${count}`;
        await upload(name, archive(metadata({ name })));
        expect((await register({ name })).body.code).toBe(count < 64 ? undefined : "VALIDATION_ERROR");
      }
      expect((await register({ name: "p63" })).status).toBe(201);
    });
  },
  { objects: { folder } },
);
