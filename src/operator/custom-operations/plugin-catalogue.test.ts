import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { readEnabledPlugins } from "../../plugins/enabled-plugins.ts";
import { pluginCatalogue } from "./plugin-catalogue.ts";

const RULE = { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch"] };
const READS = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const LOG = { info: () => undefined, warn: () => undefined } as unknown as Logger;

function operation(more: object = {}): object {
  return {
    name: "reindex",
    tier: "mutating",
    description: "Rebuilds an index.",
    paramsSchema: { type: "object", required: ["namespace"], properties: { namespace: { type: "string" } } },
    rules: [RULE],
    timeLimitSeconds: 10,
    result: {},
    ...more,
  };
}

const image = (more: object = {}): object => ({
  name: "search",
  version: "1.2.0",
  module: "plugin.mjs",
  operations: [operation()],
  ...more,
});

const values = (more: object = {}, version = "1.2.0", name = "search"): object => ({
  [name]: {
    version,
    operations: { reindex: { tier: "mutating", rules: [RULE], ...more } },
  },
});

async function catalogue(enabled: object, metadata: object | string | undefined) {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-plugins-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (metadata !== undefined) {
    await mkdir(join(folder, "search"));
    const text = typeof metadata === "string" ? metadata : JSON.stringify(metadata);
    await writeFile(join(folder, "search", "metadata.json"), text);
    await writeFile(join(folder, "search", "plugin.mjs"), "export default {};");
  }
  const table = readEnabledPlugins(enabled);
  if (table === undefined) throw new Error("no table");
  return pluginCatalogue(table, folder, { clock: systemClock, log: LOG });
}

test("an operation that is in the values and in the image is found, with the values' rules and the stricter tier", async () => {
  const found = await catalogue(values({ tier: "destructive", rules: [RULE, READS] }), image());
  expect(found.findOperation("search/reindex")).toMatchObject({ command: "search/reindex", tier: "destructive" });
  expect(found.commands.tierOf("search/reindex")).toBe("destructive");
  const lower = await catalogue(
    values({ tier: "read-only", rules: [READS] }),
    image({ operations: [operation({ rules: [READS] })] }),
  );
  expect(lower.commands.tierOf("search/reindex")).toBe("mutating");
  expect([found.problems, found.problemOf("search/reindex"), found.isEnabled("search/reindex")]).toEqual([
    [],
    undefined,
    true,
  ]);
  const bound = found.findOperation("search/reindex")?.bind({ namespace: "Not A Namespace" });
  expect(bound).toMatchObject({ ok: false, problems: ["namespace must be the name of a namespace"] });
});

test.each<readonly [string, object, object | string | undefined, string, RegExp]>([
  ["an image without it", values(), undefined, "UnknownOperation", /the operator's image does not have it/],
  ["another version", values({}, "1.3.0"), image(), "UnknownOperation", /enable version 1.3.0, and .* image has 1.2.0/],
  ["another name", values(), image({ name: "find" }), "UnknownOperation", /has plugin find in the folder of search/],
  ["metadata that is no JSON", values(), "{", "UnknownOperation", /metadata.json is no JSON/],
  [
    "broken metadata",
    values(),
    { name: "search" },
    "UnknownOperation",
    /is broken: metadata.json\/version is required/,
  ],
  [
    "no such operation",
    values(),
    image({ operations: [operation({ name: "other" })] }),
    "UnknownOperation",
    /no such operation/,
  ],
  [
    "rules that exceed the values'",
    values({ rules: [READS] }),
    image(),
    "RuleMissing",
    /needs get deployments of apps, patch deployments of apps/,
  ],
  [
    "values with a forbidden rule",
    values({ rules: [{ ...READS, resources: ["secrets"] }] }),
    image(),
    "UnknownOperation",
    /may not have get on secrets/,
  ],
  [
    "values with more rights than any plugin needs",
    values({
      rules: ["a", "b", "c"].map((letter) => ({
        apiGroups: [1, 2, 3, 4, 5, 6].map((at) => `g${at}.example.com`),
        resources: Array.from({ length: 16 }, (_, at) => letter.repeat(at + 1)),
        verbs: ["get"],
      })),
    }),
    image(),
    "UnknownOperation",
    /the rules of search have more than 256 pairs of API group and resource/,
  ],
  [
    "values that let it delete unasked",
    values({ rules: [RULE, { ...READS, verbs: ["delete"] }] }),
    image(),
    "UnknownOperation",
    /may not have delete on pods: the operation's tier is mutating, and must be destructive/,
  ],
])("%s: the operation cannot run, and the words say why", async (_, enabled, metadata, reason, words) => {
  const found = await catalogue(enabled, metadata);
  expect(found.findOperation("search/reindex")).toBeUndefined();
  expect(found.problemOf("search/reindex")).toEqual({ reason, message: expect.stringMatching(words) });
  expect([found.problems.length, found.isEnabled("search/reindex")]).toEqual([1, true]);
  expect(found.findOperation("kubernetes/scale")).toBeDefined();
});

test("what nothing enables is unknown and destructive; our own commands keep their tier, also against the values", async () => {
  const found = await catalogue(
    {
      ...values(),
      kubernetes: {
        version: "1",
        operations: { "delete-pod": { tier: "read-only", rules: [READS] } },
      },
    },
    image(),
  );
  expect(found.problemOf("search/other")?.message).toContain("the install values (plugins) do not enable it");
  expect(found.commands.tierOf("search/other")).toBe("destructive");
  expect([
    found.commands.tierOf("kubernetes/delete-pod"),
    found.commands.isClusterWide("kubernetes/delete-pod"),
  ]).toEqual(["destructive", false]);
  expect(found.problemOf("kubernetes/scale")).toBeUndefined();
});

test.each([
  [null],
  [[]],
  [{ search: {} }],
  [{ search: { version: "1", operations: { x: { tier: "mutating" } } } }],
  [{ "Bad Name": { version: "1", operations: {} } }],
])("%j is no table of plugins", (value) => {
  expect(readEnabledPlugins(value)).toBeUndefined();
});
