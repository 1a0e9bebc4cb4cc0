import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reaching } from "./test-run/order/import-graph.ts";
import { readGraph } from "./test-run/order/plan.ts";
import { filesOf } from "./test-run/tiers.ts";

const CASES = "test/integration/access-grants/cases.json";
const CASES_TEST = "test/integration/access-grants/access-grants.test.ts";
const SAMPLE = "test/integration/admission/sample.test.ts";

const root = join(import.meta.dirname, "..");
const docs = join(root, "docs");
const page = readFileSync(join(docs, "security.md"), "utf8");
/** From one heading up to another, the rows of the tables whose last column is for tests. */
const rowsOf = (from: string, to = "\n## "): readonly string[] => {
  const start = page.indexOf(from);
  const tables = page.slice(start, page.indexOf(to, start + from.length)).split(/\n(?!\|)/);
  return tables.flatMap((table) => {
    const [head = "", , ...rows] = table.split("\n").filter((line) => line.startsWith("|"));
    return /\| (Test|proven by) \|$/.test(head) ? rows : [];
  });
};
const section = page.slice(page.indexOf("## What a stolen X can do"), page.indexOf("## Open and close"));
const lines = rowsOf("## What a stolen X can do", "## What they may tell you");
const chapters = {
  "Debug sessions": rowsOf("## Debug sessions"),
  Machines: rowsOf("## Machines"),
  Releases: rowsOf("## Releases"),
  Receipts: rowsOf("## Receipts"),
  "Pages in a browser": rowsOf("## Pages in a browser"),
  "Plugins of the vendor": rowsOf("## Plugins of the vendor"),
};
const proofs = [
  ...[section, ...Object.values(chapters).flat()].join("\n").matchAll(/\[([^\]]+)\]\((\.\.\/[^)]+)\)/g),
].map(([, title = "", path = ""]) => [title, path] as const);

test("every line of what a stolen identity can do names a test", () => {
  expect(lines.length).toBeGreaterThan(30);
  expect(lines.filter((line) => !/\]\(\.\.\/(src|test)\/[^)]+\) \|$/.test(line))).toEqual([]);
});

test.each([
  ["Debug sessions", 2, 12],
  ["Machines", 1, 12],
  ["Releases", 0, 12],
  ["Receipts", 0, 4],
  ["Pages in a browser", 0, 8],
  ["Plugins of the vendor", 0, 12],
] as const)("every attack under %s names a test, but those that no program stops", (chapter, unstopped, least) => {
  const attacks = chapters[chapter];
  expect(attacks.length).toBeGreaterThan(least);
  expect(attacks.filter((line) => !/\]\(\.\.\/(src|test)\/[^)]+\) \|$/.test(line))).toHaveLength(unstopped);
});

test.each([
  "The platform",
  "A runtime key",
  "A deployment group's token",
  "A deployment's token",
  "The agent",
  "An approver",
  "An engineer",
])("%s has lines, and the operator has them in both lending modes", (identity) => {
  for (const name of [identity, "The operator, `lending.mode=operator`", "The operator, `lending.mode=approver`"]) {
    expect(section).toContain(`### ${name}`);
  }
});

test("every line is tested in the default tier, but those of pages in a browser", () => {
  const files = new Set((["unit", "chart", "integration"] as const).flatMap((project) => filesOf(project, "default")));
  const graph = readGraph(root);
  /** Of a table of cases: a test runs all of it. The sample runs one a policy. */
  const isRun = (path: string) =>
    path === CASES
      ? files.has(CASES_TEST)
      : path.startsWith("test/integration/admission/") &&
        [...reaching(graph, new Set([path]))].some((file) => files.has(file) && file !== SAMPLE);
  const left = [...lines, ...Object.values(chapters).flat()]
    .map((line) => [...line.matchAll(/\]\(\.\.\/((?:src|test)\/[^)]+)\)/g)].map(([, path = ""]) => path))
    .filter((paths) => paths.length > 0 && !paths.some((path) => files.has(path) || isRun(path)));
  expect(new Set(left.flat())).toEqual(new Set(["test/browser/pages.test.ts"]));
});

test.each(proofs)("there is a test %j in %s", (title, path) => {
  const text = readFileSync(join(docs, path), "utf8");
  if (!path.endsWith("cases.json")) return expect(text).toContain(JSON.stringify(title));
  const { cases } = JSON.parse(text) as { readonly cases: readonly { readonly id: string; readonly title: string }[] };
  expect(cases.map((each) => `${each.id} ${each.title}`)).toContain(title);
});
