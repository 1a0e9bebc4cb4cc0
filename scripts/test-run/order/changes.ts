import { execFileSync } from "node:child_process";
import { type NamedFunction, namedFunctions } from "./named-functions.ts";

/** A file that differs from the base, as it is now. */
export interface Change {
  readonly path: string;
  /** Changed lines, first and last; a deletion counts as the line before it and the one after. */
  readonly lines: readonly (readonly [number, number])[];
}

/** @param diff what `git diff --unified=0 --no-renames` prints */
function parseDiff(diff: string): Change[] {
  const changes: { path: string; lines: [number, number][] }[] = [];
  let removed = "";
  for (const line of diff.split("\n")) {
    const [, before] = /^--- a\/(.*?)\t?$/.exec(line) ?? [];
    if (before !== undefined) removed = before;
    const [, after] = /^\+\+\+ (?:b\/)?(.*?)\t?$/.exec(line) ?? [];
    if (after !== undefined) changes.push({ path: after === "/dev/null" ? removed : after, lines: [] });
    const [, from, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (from === undefined) continue;
    const last = count === "0" ? Number(from) + 1 : Number(from) + Number(count) - 1;
    changes.at(-1)?.lines.push([Number(from), last]);
  }
  return changes;
}

/** What differs from the commit `base` in this working tree, files that git does not know yet included. */
export function changesSince(base: string, root: string): Change[] {
  // Whatever the user's own settings say of prefixes, colours and outside diff programs.
  const args = [
    "-c",
    "core.quotePath=false",
    "diff",
    "--unified=0",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--src-prefix=a/",
    "--dst-prefix=b/",
  ];
  const untracked = git(root, ["ls-files", "-z", "--others", "--exclude-standard"]).split("\0").filter(Boolean);
  const whole = untracked.map((path) => ({ path, lines: [[1, Number.MAX_SAFE_INTEGER]] as const }));
  return [...parseDiff(git(root, [...args, base, "--"])), ...whole];
}

/** The named functions that changed lines lie in, innermost; `undefined` for lines outside of each function. */
export function changedFunctions({ path, lines }: Change, source: string): Set<string | undefined> {
  const functions = namedFunctions(path, source);
  const lastLine = source.split("\n").length;
  const names = new Set<string | undefined>();
  for (const [from, to] of lines) {
    for (let line = from; line <= Math.min(to, lastLine); line += 1) names.add(innermost(functions, line)?.name);
  }
  return names;
}

function innermost(functions: readonly NamedFunction[], line: number): NamedFunction | undefined {
  const around = functions.filter(({ from, to }) => from <= line && line <= to);
  return around.toSorted((one, other) => one.to - one.from - (other.to - other.from))[0];
}

/** @throws Error when git is missing, the folder is no repository, or the command fails */
export function git(root: string, args: readonly string[]): string {
  return execFileSync("git", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 30,
    stdio: ["ignore", "pipe", "pipe"],
  });
}
