import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { systemClock } from "../../../base/clock.ts";
import { readArchive } from "../../../platform/areas/operations/bundles/bundle-archive.ts";
import { newSite } from "../../../platform/areas/operations/testing/site.ts";
import { onEachDatabase } from "../../../platform/testing/harness.ts";
import { type Typing, typeCommand } from "../releases/testing/type-command.ts";

const EXAMPLE = join(import.meta.dirname, "../../../../examples/plugin-log-level");

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-plugin-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// The time that a module has to load is that of a real process.
const type = (words: readonly string[], typing?: Typing) =>
  typeCommand(folder, ["plugin", ...words], { clock: systemClock, ...typing });

/** A copy of the example, in which each text is replaced by the next. */
async function changed(name: string, changes: Readonly<Record<string, readonly (readonly [string, string])[]>>) {
  const to = join(folder, name);
  await cp(EXAMPLE, to, { recursive: true });
  for (const [file, pairs] of Object.entries(changes)) {
    let text = await readFile(join(to, file), "utf8");
    for (const [before, after] of pairs) {
      expect(text).toContain(before);
      text = text.replace(before, after);
    }
    await writeFile(join(to, file), text);
  }
  return to;
}

describe("sallyport plugin init and check", () => {
  it("writes a plugin that passes its check, named after its folder, and only into an empty one", async () => {
    const to = join(folder, "My Search_Plugin");
    expect((await type(["init", to])).code).toBe(0);
    expect((await type(["check", to])).out).toBe("my-search-plugin 0.1.0: 2 operations: no problem\n");
    expect(await type(["init", to])).toMatchObject({ code: 1, error: expect.stringContaining("is not empty") });
  });

  it("finds no problem in the example, and says what was between its code and the machine", async () => {
    expect(await type(["check", EXAMPLE])).toMatchObject({
      code: 0,
      out: "log-level 1.0.0: 2 operations: no problem\n",
      error: expect.stringMatching(
        /^(plugin\.mjs runs in Linux namespaces of its own \((bwrap|unshare)\)|WARNING: plugin\.mjs runs without a boundary of the operating system)[^\n]*\n$/,
      ),
    });
  });

  it("says nothing of a boundary where no code has run", async () => {
    const to = await changed("not-run", { "plugin.mjs": [["export default", "import 'node:fs';\nexport default"]] });
    expect(await type(["check", to])).toMatchObject({ code: 1, error: "" });
  });

  it("says each problem with its place in the file", async () => {
    const to = await changed("wrong", {
      "plugin.yaml": [
        ["version: 1.0.0", "version: 1.0"],
        ["timeLimitSeconds: 20", "timeLimitSeconds: 301"],
        ["resources: [configmaps], verbs: [get, patch]", "resources: [secrets, configmap], verbs: [get, patch]"],
        ["    description: Sets the log level of one program.\n", ""],
      ],
      "plugin.mjs": [["export default { show, set }", "export default { show }"]],
    });
    const { code, out } = await type(["check", to]);
    expect([code, out.split("\n")]).toEqual([
      1,
      [
        'plugin.yaml:3:1 /version must be string: YAML reads it as a number, write "1.0" in quotes',
        "plugin.yaml:26:5 /operations/0/timeLimitSeconds must be <= 300",
        "plugin.yaml:30:5 /operations/1/description is required",
        "plugin.yaml:49:9 /operations/1/rules/0 may not have get, patch on secrets: it holds credentials",
        "plugin.yaml:49:49 /operations/1/rules/0/resources/1 configmap is no kind of the core group that lies in a namespace: write configmaps",
        expect.stringMatching(/^plugin\.mjs:\d+:1 has no entry for the operation set that plugin\.yaml declares$/),
        "6 problems",
        "",
      ],
    ]);
    const { problems } = JSON.parse((await type(["check", to, "-o", "json"])).out);
    expect(problems[0]).toMatchObject({ file: "plugin.yaml", line: 3, column: 1 });
    const packed = await type(["pack", to, "--out", join(folder, "never.zip")]);
    expect([packed.code, packed.error]).toEqual([1, expect.stringContaining("does not pass its check")]);
  });

  it.each([
    [
      "a name that the package lacks",
      "OperationError }",
      "OperationErr }",
      /^plugin\.mjs:1:27 .* an export named 'OperationErr'$/m,
    ],
    ["require", "\n\n", '\n\nrequire("fs");\n', /^plugin\.mjs:3:1 .*require is not defined/m],
    ["the network", "\n\n", '\n\nfetch("https://example.com");\n', /^plugin\.mjs:3:1 .*fetch is not defined/m],
    [
      "an operation without run",
      "export default",
      "set.run = 5;\nexport default",
      /^plugin\.mjs:\d+:\d+ the operation set has no function run$/m,
    ],
    [
      "a verify that is no function",
      "export default",
      "set.verify = 5;\nexport default",
      /verify of the operation set is no function$/m,
    ],
    [
      "memory without end",
      "\n\n",
      "\n\nfor (const all = [];;) all.push(Buffer.alloc(1 << 22, 1));\n",
      /^plugin\.mjs:1:1 .*more than 160 MiB/m,
    ],
  ])("loads the module as the operator does: %s is told", async (name, before, after, told) => {
    const to = await changed(`load-${name.replaceAll(" ", "-")}`, { "plugin.mjs": [[before, after]] });
    expect(await type(["check", to])).toMatchObject({ code: 1, out: expect.stringMatching(told) });
  });

  it("says of YAML that cannot be read nothing but that", async () => {
    const to = await changed("half-yaml", { "plugin.yaml": [["version: 1.0.0", "version: [1.0.0"]] });
    const { code, out } = await type(["check", to]);
    expect([code, out]).toEqual([1, expect.not.stringContaining("declares no operation")]);
  });

  it("makes no plugin with a name of Sallyport's own, and no folder", async () => {
    const to = join(folder, "kubernetes-x");
    expect(await type(["init", to])).toMatchObject({
      code: 1,
      error: expect.stringContaining("/name is, or begins with, a word of Sallyport's own: kubernetes, debug"),
    });
    await expect(readFile(join(to, "plugin.yaml"))).rejects.toThrow("ENOENT");
  });

  it.each([
    ["no YAML", "a: [", /plugin\.yaml:1:\d+ /],
    ["nothing", "", /plugin\.yaml:1:1 must be object/],
    ["a key twice", "name: a\nname: b\n", /plugin\.yaml:2:1 /],
    [
      "aliases of aliases",
      `a: &a [1]\n${"b: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"}`,
      /plugin\.yaml:1:1/,
    ],
  ])("%s in plugin.yaml is told by its place", async (name, text, told) => {
    const to = join(folder, `yaml-${name.replaceAll(" ", "-")}`);
    await mkdir(to);
    await writeFile(join(to, "plugin.yaml"), text);
    await writeFile(join(to, "plugin.mjs"), "export default {};");
    expect(await type(["check", to])).toMatchObject({ code: 1, out: expect.stringMatching(told) });
  });
});

describe("sallyport plugin pack and values", () => {
  it("packs the same bytes twice, which the platform reads", async () => {
    const files = [join(folder, "one.zip"), join(folder, "two.zip")] as const;
    const [one, two] = await Promise.all(files.map((file) => type(["pack", EXAMPLE, "--out", file, "-o", "json"])));
    const bytes = await readFile(files[0]);
    expect(bytes.equals(await readFile(files[1]))).toBe(true);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(JSON.parse(one?.out ?? "")).toEqual({
      ...{ file: files[0], name: "log-level", version: "1.0.0" },
      bytes: bytes.length,
      sha256,
    });
    expect(JSON.parse(two?.out ?? "").sha256).toBe(sha256);
    expect(unzipSync(bytes)["plugin.mjs"]).toEqual(new Uint8Array(await readFile(join(EXAMPLE, "plugin.mjs"))));
    const { issues, files: names, metadata } = await readArchive(files[0]);
    expect([issues, [...names]]).toEqual([[], ["metadata.json", "plugin.mjs"]]);
    expect(metadata).toMatchObject({
      module: "plugin.mjs",
      operations: [{ name: "show", tier: "read-only" }, { tier: "mutating" }],
    });
  });

  it("prints the chart's values, which say what the rules let happen", async () => {
    const file = join(folder, "values.zip");
    await type(["pack", EXAMPLE, "--out", file]);
    const { out } = await type(["values", file]);
    const show = { enabled: true, tier: "read-only" };
    const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] };
    const values = {
      plugins: {
        "log-level": {
          version: "1.0.0",
          operations: {
            show: { ...show, rules: [rule] },
            set: { ...show, tier: "mutating", rules: [{ ...rule, verbs: ["get", "patch"] }] },
          },
        },
      },
      operator: { resources: { limits: { memory: "416Mi" } } },
    };
    expect(out).toContain("a plugin runs in the operator's container and may take 160 MiB there");
    expect(parse(out)).toEqual(values);
    expect(out).toContain("# Sets the log level of one program.\n");
    expect(out).toContain("with the role sallyport-op-log-level-set");
    expect(out).toContain('- { apiGroups: [ "" ], resources: [ configmaps ], verbs: [ get, patch ] }');
    expect(JSON.parse((await type(["values", file, "-o", "json"])).out)).toEqual(values);
  });

  it.each<[string, () => Uint8Array, RegExp]>([
    ["no archive", () => Buffer.from("no archive"), /is no sound archive of a plugin/],
    ["no metadata", () => zipSync({ "plugin.mjs": Buffer.from("x") }), /has no metadata\.json: it was not made by/],
    ["large metadata", () => zipSync({ "metadata.json": new Uint8Array(300_000) }), /has a metadata\.json over 262144/],
    [
      "metadata without a module",
      () => zipSync({ "metadata.json": Buffer.from('{"name":"search","version":"1","operations":[{"name":"a"}]}') }),
      /is refused:\n {2}\/module is required/,
    ],
    [
      "a key that would write to the terminal",
      () => zipSync({ "metadata.json": Buffer.from('{"module":"plugin.mjs","\\u001b]0;x\\u0007\\nno problem":1}') }),
      /\\u001b\]0;x\\u0007\\u000ano problem is not a known key/,
    ],
  ])("%s is refused in words", async (name, bytes, told) => {
    const file = join(folder, `${name.replaceAll(" ", "-")}.zip`);
    await writeFile(file, bytes());
    expect(await type(["values", file])).toMatchObject({ code: 1, out: "", error: expect.stringMatching(told) });
  });
});

describe("sallyport plugin test", () => {
  const show = ["test", EXAMPLE, "show", "--namespace", "shop", "--params", "name=web"];

  it("without a kubeconfig checks, runs nothing, and says so", async () => {
    const { code, error } = await type(show, { env: { HOME: folder } });
    expect([code, error]).toEqual([8, expect.stringContaining("NOT RUN: there is no kubeconfig.")]);
  });

  it.each<[readonly string[], number, RegExp]>([
    [["test", EXAMPLE, "wipe"], 2, /log-level has no operation wipe; it has show, set/],
    [["test", EXAMPLE, "show"], 10, /the params do not fit show:\n {2}\/namespace is required\n {2}\/name is required/],
    [[...show, "--params", "level"], 2, /--params is NAME=VALUE, not level/],
    [[...show, "--params", "level=debug"], 10, /\/level is not a known key/],
  ])("%j ends with %i", async (words, code, told) => {
    expect(await type(words, { env: { HOME: folder } })).toMatchObject({ code, error: expect.stringMatching(told) });
  });
});

it.each<[readonly string[], RegExp]>([
  [[], /usage: sallyport plugin init\|check\|pack\|values\|test\|upload/],
  [["nope"], /usage: sallyport plugin init/],
  [["check"], /usage: sallyport plugin check DIR; see its --help/],
  [["check", "a", "b"], /usage: sallyport plugin check DIR/],
  [["check", "a", "--out", "b"], /Unknown option '--out'/],
])("%j is called wrongly", async (words, told) => {
  expect(await type(words)).toMatchObject({ code: 2, error: expect.stringMatching(told) });
});

it("has a help for all and for each verb", async () => {
  const { out } = await type(["--help"]);
  for (const verb of ["init", "check", "pack", "values", "test", "upload"]) {
    expect(out).toContain(`  sallyport plugin ${verb} `);
    expect((await type([verb, "--help"])).out).toContain(`usage: sallyport plugin ${verb} `);
  }
});

const objects = join(tmpdir(), `sallyport-plugin-objects-${process.pid}`);
afterAll(() => rm(objects, { recursive: true, force: true }));

onEachDatabase(
  "sallyport plugin upload",
  (world) => {
    it("uploads and registers, and a version that the platform knows is replaced", async () => {
      const { engineer: key, projectId } = await newSite(world);
      const env = { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: key };
      const file = join(folder, "upload.zip");
      await type(["pack", EXAMPLE, "--out", file]);
      const words = ["upload", file, "--project", projectId, "-o", "json"];
      for (let again = 0; again < 2; again += 1) {
        const { code, out } = await type(words, { env });
        expect([code, JSON.parse(out)]).toEqual([
          0,
          { ...{ name: "log-level", version: "1.0.0" }, ...{ tier: "read-only", enabled: true } },
        ]);
      }
      const { body } = await world.call("GET", "/v1/operations/plugins", {
        key,
        query: { project: projectId },
      });
      const listed = body.plugins.find(({ name }: { name: string }) => name === "log-level");
      expect(listed.operations).toMatchObject([
        { name: "show", tier: "read-only" },
        { name: "set", tier: "mutating" },
      ]);
    });

    it("uploads nothing that cannot run", async () => {
      const { engineer: key, projectId } = await newSite(world);
      const env = { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: key };
      const file = join(folder, "broken.zip");
      const files = unzipSync(await readFile(join(folder, "upload.zip")));
      await writeFile(file, zipSync({ ...files, "plugin.mjs": Buffer.from("export default { show: {}, set: {} };") }));
      expect(await type(["upload", file, "--project", projectId], { env })).toMatchObject({
        code: 1,
        error: expect.stringContaining("the operation show has no function run"),
      });
      const { body } = await world.call("GET", "/v1/operations/plugins", { key, query: { project: projectId } });
      expect(body.plugins.map(({ name }: { name: string }) => name)).not.toContain("log-level");
    });

    it("says what the platform says", async () => {
      const { engineer: key } = await newSite(world);
      const env = { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: key };
      const { code, error } = await type(["upload", join(folder, "upload.zip"), "--project", "no-such"], { env });
      expect([code, error]).toEqual([5, expect.stringContaining("NOT_FOUND")]);
    });
  },
  { objects: { folder: objects } },
);
