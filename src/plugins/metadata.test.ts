import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readPluginMetadata } from "./metadata.ts";
import { MAX_PAIRS } from "./rules.ts";

const paramsSchema = {
  type: "object",
  required: ["namespace", "name"],
  properties: { namespace: { type: "string" }, name: { type: "string" } },
};
const operation = (change: object = {}) => ({
  name: "reindex",
  description: "Rebuilds the search index of one workload.",
  paramsSchema,
  rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch"] }],
  timeLimitSeconds: 60,
  result: { generation: "the generation after the change" },
  ...change,
});
const plugin = (change: object = {}) => ({
  name: "search",
  version: "1.2.0",
  tier: "mutating",
  module: "plugin.mjs",
  operations: [operation()],
  ...change,
});
const withOperation = (change: object) => plugin({ operations: [operation(change)] });

function issuesOf(value: unknown): readonly string[] {
  // As it is read: JSON has no undefined.
  const read = readPluginMetadata(value === undefined ? value : JSON.parse(JSON.stringify(value)));
  return read.ok ? [] : read.issues.map(({ path, message }) => `${path} ${message}`);
}

describe("a plugin's metadata", () => {
  it("is read, with the tier of the plugin where an operation has none, and destructive where neither has", () => {
    const operations = [operation(), operation({ name: "wipe", tier: "destructive" })];
    const tiers = (change: object) => {
      const read = readPluginMetadata(plugin({ operations, ...change }));
      return read.ok ? [read.metadata.tier, ...read.metadata.operations.map(({ tier }) => tier)] : read.issues;
    };
    expect(tiers({})).toEqual(["mutating", "mutating", "destructive"]);
    expect(tiers({ tier: undefined })).toEqual(["destructive", "destructive", "destructive"]);
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, " must be object"],
    ["a list", [], " must be object"],
    ["no name", { ...plugin(), name: undefined }, "/name is required"],
    ["a bad name", plugin({ name: "Search_1" }), "/name must be lower-case letters and digits, in words"],
    ["a name of Sallyport's", plugin({ name: "debug" }), "/name is, or begins with, a word of Sallyport's own"],
    ["a name whose role could be another's", plugin({ name: "kubernetes-rollout" }), "/name is, or begins with"],
    ["no version", plugin({ version: "" }), "/version must begin with a letter or digit"],
    ["another module", plugin({ module: "../other.mjs" }), '/module must be "plugin.mjs"'],
    ["an unknown key", plugin({ homepage: "x" }), "/homepage is not a known key"],
    ["no operations", plugin({ operations: [] }), "/operations must not have fewer than 1 items"],
    [
      "65 operations",
      plugin({ operations: Array.from({ length: 65 }, () => operation()) }),
      "/operations must not have more than 64 items",
    ],
    ["an operation twice", plugin({ operations: [operation(), operation()] }), "/operations/1/name is declared twice"],
    [
      "names of which no role could be made",
      plugin({ name: "a".repeat(60) }),
      "/operations/0/name is too long: plugin/operation may have 64 characters",
    ],
    ["a bad tier", withOperation({ tier: "mild" }), "/operations/0/tier must be one of read-only, mutating"],
    [
      "a scope",
      withOperation({ scope: "cluster" }),
      "/operations/0/scope is not a known key: an operation works in the one",
    ],
    ["a key of every object", withOperation({ constructor: 1 }), "/operations/0/constructor is not a known key"],
    ["no time", withOperation({ timeLimitSeconds: 0 }), "/operations/0/timeLimitSeconds must be >= 1"],
    ["too much time", withOperation({ timeLimitSeconds: 301 }), "/operations/0/timeLimitSeconds must be <= 300"],
    ["text that hides", withOperation({ description: "a\u202eb" }), "/operations/0/description has an invisible"],
    ["an unknown key there", withOperation({ rule: [] }), "/operations/0/rule is not a known key"],
    ["no rules", withOperation({ rules: [] }), "/operations/0/rules must not have fewer than 1 items"],
    [
      "a schema with a reference",
      withOperation({ paramsSchema: { ...paramsSchema, $ref: "#" } }),
      "/operations/0/paramsSchema/$ref is not allowed",
    ],
    [
      "no namespace",
      withOperation({ paramsSchema: { ...paramsSchema, required: ["name"] } }),
      "/operations/0/paramsSchema must have a required property namespace of type string",
    ],
    [
      "a namespace that is no text",
      withOperation({ paramsSchema: { ...paramsSchema, properties: { namespace: { type: ["string", "null"] } } } }),
      "must have a required property namespace of type string",
    ],
    [
      "a word of the operator's",
      withOperation({ result: { truncated: "x" } }),
      "truncated is a word that the operator",
    ],
    ["a word that is none", withOperation({ result: { "a.b": "x" } }), 'the word "a.b" must be letters and digits'],
    [
      "a deletion that could run unasked",
      withOperation({ rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["delete"] }] }),
      "/operations/0/rules/0 may not have delete on apps/deployments: the operation's tier is mutating, and must be",
    ],
    [
      "a word twice",
      withOperation({ rules: [{ apiGroups: ["apps", "apps"], resources: ["deployments"], verbs: ["get"] }] }),
      "/operations/0/rules/0/apiGroups has a word twice",
    ],
    [
      "too many values",
      withOperation({ paramsSchema: { ...paramsSchema, examples: Array.from({ length: 16_400 }, () => 0) } }),
      " has more than 16384 values",
    ],
    ["too deep", plugin({ description: JSON.parse("[".repeat(100) + "]".repeat(100)) }), " nests deeper than 72"],
  ])("%s: is refused with the place and the reason", (_, value, issue) => {
    expect(issuesOf(value).join("\n")).toContain(issue);
    expect(issuesOf(value)).not.toEqual([]);
  });

  it("names what is wrong in each of many operations", () => {
    const operations = Array.from({ length: 20 }, (_, index) => operation({ name: `o${index}`, timeLimitSeconds: 0 }));
    expect(issuesOf(plugin({ operations }))).toHaveLength(20);
  });

  it("is refused with at most 50 issues", () => {
    const operations = Array.from({ length: 64 }, () => ({}));
    expect(issuesOf(plugin({ operations }))).toHaveLength(50);
  });

  const kinds = (count: number) => Array.from({ length: count }, (_, at) => `kinds${"x".repeat(at)}`);
  const rule = (groups: number, resources: number) => ({
    apiGroups: Array.from({ length: groups }, (_, at) => `g${at}.example.com`),
    resources: kinds(resources),
    verbs: ["get"],
  });

  it(`has at most ${MAX_PAIRS} pairs of API group and resource in all its rules together`, () => {
    const one = operation({ rules: [rule(8, 8), rule(8, 8)] });
    const most = [one, operation({ name: "more", rules: [rule(1, 16), rule(7, 16)] })];
    expect(issuesOf(plugin({ operations: most }))).toEqual([]);
    const above = [...most, operation({ name: "last", rules: [rule(1, 1)] })];
    expect(issuesOf(plugin({ operations: above }))).toEqual([
      expect.stringContaining("/operations their rules have more than 256 pairs of API group and resource in all"),
    ]);
  });

  it("with rules that multiply to 57,344 pairs is refused in steps that its size bounds", () => {
    const verbs = ["get", "list", "create", "patch", "delete"];
    const rules = Array.from({ length: 7 }, () => ({ ...rule(8, 16), verbs }));
    const operations = Array.from({ length: 64 }, (_, at) => operation({ name: `o${at}`, rules }));
    const metadata = plugin({ operations });
    const steps = vi.spyOn(RegExp.prototype, "exec");
    onTestFinished(() => steps.mockRestore());
    const read = readPluginMetadata(metadata);
    const words = 64 * 7 * (8 + 16);
    expect(steps.mock.calls.length).toBeLessThan(8 * words);
    expect(steps.mock.calls.length).toBeGreaterThan(words);
    expect(read).toMatchObject({ ok: false, issues: [{ path: "/operations" }] });
  });

  it("is judged without an exception, for any JSON", () => {
    const change = fc.dictionary(
      fc.constantFrom("name", "version", "tier", "operations", "module", "x"),
      fc.jsonValue(),
    );
    const inOperation = fc.dictionary(fc.constantFrom(...Object.keys(operation()), "tier", "x"), fc.jsonValue());
    fc.assert(
      fc.property(change, inOperation, (outer, inner) => {
        readPluginMetadata(plugin(outer));
        readPluginMetadata(withOperation(inner));
      }),
    );
  });
});
