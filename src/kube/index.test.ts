import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as kube from "./index.ts";

const ROOT = join(import.meta.dirname, "../..");
const docs = readFileSync(join(ROOT, "docs/kube.md"), "utf8");

test.each(Object.keys(kube))("docs/kube.md names %s", (name) => {
  expect(docs).toMatch(new RegExp(`\\b${name}\\b`));
});

test("the operator of docs/kube.md is the example that is run, and its shape the one that reads pods", () => {
  const programs = ["examples/operator/operator.ts", "test/integration/kube/lean-pod.ts"].map((path) =>
    readFileSync(join(ROOT, path), "utf8"),
  );
  const examples = [...docs.matchAll(/^( *)```ts\n([\s\S]*?)^ *```$/gm)];
  expect(examples).toHaveLength(2);
  for (const [at, [, indent = "", text = ""]] of examples.entries()) {
    expect(programs[at]).toContain(text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
  }
});

const proofs = [
  ...docs.slice(docs.indexOf("## What it is held to")).matchAll(/\| \[([^\]]+)\]\(\.\.\/([^)]+)\) \|$/gm),
];

test("every part has tests that docs/kube.md names", () => {
  expect(proofs.length).toBeGreaterThan(30);
});

test.each(proofs.map(([, title = "", path = ""]) => [title, path] as const))(
  "there is a test %j in %s",
  (title, path) => {
    expect(readFileSync(join(ROOT, path), "utf8")).toContain(JSON.stringify(title));
  },
);
