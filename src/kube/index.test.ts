import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as kube from "./index.ts";

const ROOT = join(import.meta.dirname, "../..");
const docs = readFileSync(join(ROOT, "docs/kube.md"), "utf8");

test.each(Object.keys(kube))("docs/kube.md names %s", (name) => {
  expect(docs).toMatch(new RegExp(`\\b${name}\\b`));
});

test("each example of docs/kube.md stands in the program that the integration test runs", () => {
  const program = readFileSync(join(ROOT, "test/integration/kube/widget-operator.ts"), "utf8");
  const examples = [...docs.matchAll(/^( *)```ts\n([\s\S]*?)^ *```$/gm)];
  expect(examples).toHaveLength(2);
  for (const [, indent = "", text = ""] of examples) {
    expect(program).toContain(text.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
  }
});
