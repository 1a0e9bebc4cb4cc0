import type { ChildProcess } from "node:child_process";
import { runFile } from "./run-file.ts";

/**
 * Runs each file that failed once more, by itself, until `ended` is aborted.
 *
 * @returns only which kind of failure it was: neither is a success
 */
export async function runOnceMore(
  files: readonly string[],
  settings: NodeJS.ProcessEnv,
  started: (child: ChildProcess) => void,
  ended: AbortSignal,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const file of files) {
    const { passed, output } = await runFile(file, settings, started);
    // Of what was ended in its midst nothing is known.
    if (ended.aborted) break;
    if (!passed) process.stdout.write(`${output}\n`);
    lines.push(`${file} ${passed ? "is FLAKY: it passed when it ran once more" : "fails again"}`);
  }
  return lines;
}
