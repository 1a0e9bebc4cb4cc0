import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, it } from "vitest";
import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";
import { type Expression, hostileTexts, repeats, repeatsGroups, stepsOf, TooManySteps } from "./backtracking.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Found extends Expression {
  readonly where: string;
}

/** Every regular expression in our source. */
function ours(): Found[] {
  const files = globSync("src/**/*.ts", { cwd: ROOT }).filter((file) => !/\.test\.ts$|\/testing\//.test(file));
  return files.flatMap((file) => literalsIn(file));
}

/** The expressions of the formats that the contract and callers' own schemas may name. */
function libraryFormats(): Found[] {
  const names = ["date", "date_time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"];
  return names.flatMap((name) => literalsIn(`node_modules/typebox/build/format/${name}.mjs`));
}

function literalsIn(file: string): Found[] {
  const found: Found[] = [];
  const { program } = parseSync(file, readFileSync(join(ROOT, file), "utf8"));
  new Visitor({
    Literal: (node) => {
      if ("regex" in node) found.push({ ...node.regex, where: file });
    },
  }).visit(program);
  return found;
}

/** The patterns of the route table's schemas, which are matched against callers' texts. */
function contractPatterns(): Found[] {
  const found = new Map<string, Found>();
  const look = (node: unknown, where: string): void => {
    if (typeof node !== "object" || node === null) return;
    const { pattern } = node as { readonly pattern?: unknown };
    if (typeof pattern === "string") found.set(pattern, { pattern, flags: "u", where });
    for (const [name, inner] of Object.entries(node)) look(inner, name === "examples" ? "" : where);
  };
  for (const [area, routes] of Object.entries(ROUTES)) {
    for (const [name, route] of Object.entries<Route>(routes)) {
      for (const schema of [route.params, route.query, route.body]) look(schema, `${area}.${name}`);
    }
  }
  return [...found.values()];
}

const LENGTH = 512;
const GROWTH = 4;
const MOST_STEPS = 4_000_000;

/**
 * Expressions that are only matched against text of the installation's administrator, its store or our code, never a
 * caller's.
 */
const OWN_WORDS: ReadonlySet<string> = new Set([
  "src/platform/platform-config.ts: \\/+$",
  "src/platform/objects/config.ts: \\/+$",
  "src/platform/git-hosts/config.ts: \\/+$",
  "src/platform/identity/users/site.ts: \\/+$",
  "src/cli/engineer/login-command.ts: \\/+$",
  "src/cli/engineer/session.ts: \\/+$",
  "src/api-client/address.ts: \\/+$",
  "src/platform/objects/s3-store.ts: <Contents>(.*?)<\\/Contents>",
  "src/platform/areas/operations/params/shown-length.ts: ([0-9a-f]+)-([0-9a-f]+) ?",
  "src/kube/serving/trusted-authorities.ts: -----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----",
]);

/** Undefined when a longer text takes no more steps for each character. */
function superlinear(expression: Expression): string | undefined {
  const length = repeatsGroups(expression) ? LENGTH / 4 : LENGTH;
  const long = [...hostileTexts(expression, length * GROWTH)];
  for (const [index, text] of [...hostileTexts(expression, length)].entries()) {
    try {
      const before = stepsOf(expression, text, MOST_STEPS) / text.length;
      // So few steps for each character are a constant bound.
      if (before < 30) continue;
      const longer = long[index] ?? "";
      const after = stepsOf(expression, longer, MOST_STEPS * GROWTH ** 2) / longer.length;
      if (after > 2 * before)
        return `${JSON.stringify(text.slice(0, 40))}: ${before | 0} steps a character, then ${after | 0}`;
    } catch (error) {
      if (error instanceof TooManySteps) return `${JSON.stringify(text.slice(0, 40))}: more than ${MOST_STEPS} steps`;
      throw error;
    }
  }
  return undefined;
}

it.each([
  ["^(a+)+$", ""],
  ["\\beyJ[\\w-]{8,4096}\\.[\\w-]{8,8192}", "g"],
  ["\\/+$", ""],
  ["^(a|a)*$", ""],
  ["\\s+x", "g"],
])("the judge finds %s", (pattern, flags) => {
  expect(superlinear({ pattern, flags })).toBeDefined();
});

const judged = [...ours(), ...libraryFormats(), ...contractPatterns()]
  .filter(repeats)
  .map((each) => ({ ...each, name: `${each.where}: ${each.pattern}` }));

it.each(judged.filter(({ name }) => !OWN_WORDS.has(name)))("$name: takes linear time", (expression) => {
  expect(superlinear(expression)).toBeUndefined();
});

it("no exception is left over", () => {
  const names = new Set(judged.map(({ name }) => name));
  expect([...OWN_WORDS].filter((name) => !names.has(name))).toEqual([]);
});
