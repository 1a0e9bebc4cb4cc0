import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const docs = join(import.meta.dirname, "../docs");
const page = readFileSync(join(docs, "security.md"), "utf8");
const section = page.slice(page.indexOf("## What a stolen X can do"), page.indexOf("## Open and close"));
const lines = section.split("\n").filter((line) => line.startsWith("| ") && !line.endsWith("| proven by |"));
/** @param head how the table of the chapter begins */
const attacksOf = (from: string, to: string, head = "| Attack |"): readonly string[] => {
  const chapter = page.slice(page.indexOf(from), page.indexOf(to));
  const rows = chapter.slice(chapter.indexOf(head)).split("\n");
  return rows.filter((line) => line.startsWith("| ")).slice(1);
};
const debug = attacksOf("## Debug sessions", "## Machines");
const machines = attacksOf("## Machines", "## Releases");
const releases = attacksOf("## Releases", "## Receipts");
const receipts = attacksOf("## Receipts", "## Pages in a browser", "| Alone |");
const pages = attacksOf("## Pages in a browser", "## Plugins of the vendor");
const plugins = attacksOf("## Plugins of the vendor", "## What leaves the cluster", "| A plugin that |");
const proofs = [
  ...[section, ...debug, ...machines, ...releases, ...receipts, ...pages, ...plugins]
    .join("\n")
    .matchAll(/\[([^\]]+)\]\((\.\.\/[^)]+)\)/g),
].map(([, title = "", path = ""]) => [title, path] as const);

test("every line of what a stolen identity can do names a test", () => {
  expect(lines.length).toBeGreaterThan(30);
  expect(lines.filter((line) => !/\]\(\.\.\/(src|test)\/[^)]+\) \|$/.test(line))).toEqual([]);
});

test.each([
  ["debug sessions", debug, 2, 12],
  ["machines", machines, 1, 12],
  ["releases", releases, 0, 12],
  ["receipts", receipts, 0, 6],
  ["pages", pages, 0, 8],
  ["plugins", plugins, 0, 12],
])("every attack on %s names a test, but those that no program stops", (_, attacks, unstopped, least) => {
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

test.each(proofs)("there is a test %j in %s", (title, path) => {
  const text = readFileSync(join(docs, path), "utf8");
  if (!path.endsWith("cases.json")) return expect(text).toContain(JSON.stringify(title));
  const { cases } = JSON.parse(text) as { readonly cases: readonly { readonly id: string; readonly title: string }[] };
  expect(cases.map((each) => `${each.id} ${each.title}`)).toContain(title);
});
