import { spawnSync } from "node:child_process";

/** A shell block of a page that does not run as it is pasted, and why. */
export interface BrokenFence {
  readonly line: number;
  readonly reason: string;
}

/** Lines of one command are joined; comments at a line's end are left out, because they may name a program. */
const commandsOf = (script: string): readonly string[] =>
  script
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, ""));

/** Finds commands that a text formatter has joined to one line: bash would take the second for arguments of the first. */
function joined(script: string): string | undefined {
  return commandsOf(script).find((line) => {
    const [program, ...words] = line.split(/\s+/);
    return (
      /^[a-z]+$/.test(program ?? "") &&
      words.some((word, at) => word === program && !/[;|&]$/.test(words[at - 1] ?? ""))
    );
  });
}

/** The blocks marked `sh` of a Markdown page that bash cannot read, or in which several commands are one line. */
export function brokenFences(page: string): readonly BrokenFence[] {
  return [...page.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)].flatMap(({ index, 2: script = "" }) => {
    const line = page.slice(0, index).split("\n").length + 1;
    const bash = spawnSync("bash", ["-n"], { input: script, encoding: "utf8" });
    if (bash.error) throw bash.error;
    if (bash.status !== 0) return [{ line, reason: bash.stderr.trim().split("\n")[0] ?? "" }];
    const run = joined(script);
    return run === undefined ? [] : [{ line, reason: `several commands in one line: ${run}` }];
  });
}
