import { expect, it } from "vitest";
import { makeCoverage } from "../coverage/coverage.ts";
import type { Change } from "./changes.ts";
import { edgesOf } from "./import-graph.ts";
import { orderByChange } from "./plan.ts";

const FILES: Readonly<Record<string, string>> = {
  "src/cli/main.ts": 'import { serve } from "../agent/agent.ts";',
  "src/agent/agent.ts": "export function serve() {\n  return 1;\n}\nexport function other() {\n  return 2;\n}\n",
  "src/agent/agent.test.ts": 'import { serve } from "./agent.ts";',
  "src/agent/constants.ts": "export const LIMIT = 3;\n",
  "src/agent/constants.test.ts": 'import type { LIMIT } from "./constants.ts";',
  "bin/sallyport.mjs": 'const main = new URL("../src/cli/main.ts", import.meta.url);',
  "lab/process.ts": 'const MAIN = join(import.meta.dirname, "../bin/sallyport.mjs");',
  "test/integration/process.test.ts": 'await import("../../lab/process.ts");',
  "test/integration/alone.test.ts": "",
  "test/chart/install.test.ts": "",
  "test/e2e/story.test.ts": "",
};
const paths = new Set(Object.keys(FILES));
const TESTS = Object.keys(FILES).filter((path) => path.endsWith(".test.ts"));

function reasonsFor(changes: readonly Change[]): Record<string, string> {
  const ordered = orderByChange(TESTS, {
    changes,
    coverage: makeCoverage([
      { test: "src/agent/agent.test.ts", functions: { "src/agent/agent.ts": ["serve"] } },
      { test: "test/integration/alone.test.ts", functions: { "src/agent/agent.ts": ["other"] } },
    ]),
    graph: { edges: new Map(Object.entries(FILES).map(([path, text]) => [path, edgesOf(path, text, paths)])) },
    lastRuns: new Map(),
    read: (path) => FILES[path] ?? "",
  });
  return Object.fromEntries(
    ordered.filter(({ reason }) => reason !== "longest without a run").map(({ file, reason }) => [file, reason]),
  );
}

it.each<[string, Change, Record<string, string>]>([
  [
    "a line of a function: who is recorded to run it, then who imports it, also by a process and in an image",
    { path: "src/agent/agent.ts", lines: [[2, 2]] },
    {
      "src/agent/agent.test.ts": "runs a changed line",
      "test/e2e/story.test.ts": "reaches a changed file",
      "test/integration/process.test.ts": "reaches a changed file",
    },
  ],
  [
    "a file without functions, of which coverage knows nothing: who imports it",
    { path: "src/agent/constants.ts", lines: [[1, 1]] },
    { "src/agent/constants.test.ts": "reaches a changed file" },
  ],
  ["a test file", { path: "test/chart/install.test.ts", lines: [[1, 1]] }, { "test/chart/install.test.ts": "changed" }],
  [
    "what is installed: charts and clusters",
    { path: "deploy/helm/values.yaml", lines: [[1, 1]] },
    { "test/chart/install.test.ts": "reaches a changed file", "test/e2e/story.test.ts": "reaches a changed file" },
  ],
  [
    "a golden file: the tests above it",
    { path: "test/chart/golden/rbac.yaml", lines: [[1, 1]] },
    { "test/chart/install.test.ts": "reaches a changed file" },
  ],
  ["a page that no test reads", { path: "docs/agent.md", lines: [[1, 1]] }, {}],
])("takes first for a change of %s", (_, change, reasons) => {
  expect(reasonsFor([change])).toEqual(reasons);
});
