import { describe, expect, it } from "vitest";
import type { Deployment } from "../../../contract/deployments/deployment.ts";
import type { Release } from "../../../contract/releases/releases.ts";
import { countsText, differencesText } from "./differences-text.ts";
import { releaseDifferences } from "./release-differences.ts";

const deployment = (more: object = {}) =>
  ({
    ...{ id: "dep_0123456789abcdefghijklmnopqr", name: "acme-eu", platform: "kubernetes", stackSettings: {} },
    ...{ environmentVariables: [], targetEnvironmentVariables: null, currentEnvironmentVariables: null, ...more },
  }) as unknown as Deployment;
const releaseOf = (version: string, resources: object, platform = "kubernetes") => {
  const id = `rel_${version.replaceAll(".", "").padEnd(28, "0")}`;
  return { id, version, stack: { [platform]: { id: "shop", resources } } } as unknown as Release;
};
const given = (lifecycle: "live" | "frozen", ...objects: readonly object[]) => ({
  [lifecycle]: { config: { id: lifecycle, type: "manifests", objects }, dependencies: [], lifecycle },
});
const object = (apiVersion: string, kind: string, more: object = {}, namespace?: string) => ({
  ...{ apiVersion, kind, metadata: { name: "a", ...(namespace !== undefined && { namespace }) }, ...more },
});
const configMap = (value: string, namespace?: string) => object("v1", "ConfigMap", { data: { a: value } }, namespace);
const claim = object("v1", "PersistentVolumeClaim", {
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});
const inputs = { values: {}, providedInputIds: [] };
const compare = (before: object, after: object, more: object = {}, platform?: string) =>
  releaseDifferences({
    ...{ deployment: deployment({ ...more, ...(platform !== undefined && { platform }) }), inputs },
    ...{ from: releaseOf("1.0.0", before, platform), to: releaseOf("1.1.0", after, platform) },
  });

describe("the differences of two releases", () => {
  it("say what a person would not expect of frozen things and of claims", () => {
    const found = compare(given("frozen", configMap("1"), claim), given("frozen", configMap("2")));
    expect(differencesText(found.changes)).toBe(
      '- PersistentVolumeClaim a: stays: it is never deleted\n~ ConfigMap a: frozen: an update leaves it as it is\n    data.a: "1" → "2"\n',
    );
  });

  it("are none for another version alone, and keep namespaces apart", () => {
    const both = given("live", configMap("1"), configMap("1", "jobs"));
    expect(compare(both, both)).toMatchObject({ compares: "objects", unrendered: [], changes: [] });
    const other = given("live", configMap("1"), configMap("2", "jobs"));
    expect(compare(both, other).changes).toMatchObject([{ change: "changed", what: "ConfigMap jobs/a" }]);
  });

  it("are of the stacks' resources where a release cannot be rendered", () => {
    const database = { db: { config: { id: "db", type: "postgres" }, dependencies: [], lifecycle: "frozen" } };
    const found = compare({}, database);
    expect(found).toMatchObject({ compares: "resources", changes: [{ change: "added", what: "postgres db" }] });
    expect(found.unrendered).toMatchObject([
      { releaseId: expect.stringMatching(/^rel_110/), path: "stack.resources.db" },
    ]);
    expect(compare(database, database, {}, "aws")).toEqual({
      ...{ compares: "resources", unrendered: [], bringsSecrets: false, changes: [] },
    });
  });

  it("are rendered with a secret input, and say that not each customer takes them", () => {
    const stack = {
      id: "shop",
      inputs: [{ id: "key", kind: "secret", label: "Key", required: false, env: [{ name: "KEY" }] }],
    };
    const web = { web: { config: { id: "web", type: "container", image: "a" }, dependencies: [], lifecycle: "live" } };
    const to = { ...releaseOf("1.0.0", {}), stack: { kubernetes: { ...stack, resources: web } } } as unknown as Release;
    const asked = { values: {}, providedInputIds: ["key"] };
    const found = releaseDifferences({ deployment: deployment(), from: null, to, inputs: asked });
    expect(found).toMatchObject({ compares: "objects", unrendered: [], bringsSecrets: true });
    expect(JSON.stringify(found)).toContain("Deployment web");
  });
});

describe("as text", () => {
  it("long values begin where they differ, and control characters are shown as their code", () => {
    const [before, after] = ["1", "2"].map((end) => `${"x".repeat(300)}${end}\u001b[2J${"y".repeat(300)}`);
    const text = differencesText([{ change: "changed", what: "a\u001b[2J", fields: [{ path: "p", before, after }] }]);
    expect(text).toMatch(/^~ a\\u001b\[2J\n {4}p: …x{20}1\\u001b\[2Jy+… → …x{20}2\\u001b\[2Jy+…\n$/);
  });

  it("many fields are counted", () => {
    const fields = Array.from({ length: 100 }, (_, n) => ({ path: `f${n}`, before: 1 }));
    const one = { change: "changed", what: "a", fields } as const;
    const lines = differencesText(Array.from({ length: 20 }, () => one)).split("\n");
    expect(lines.filter((line) => line.endsWith(": 1 → (none)"))).toHaveLength(500);
    expect(lines).toContain("    and 60 more: -o json");
    expect(countsText([one, { ...one, change: "added" }])).toBe("1 added, 1 changed");
  });
});
