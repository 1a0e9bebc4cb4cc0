import type { ChildProcess } from "node:child_process";
import { runFiles } from "./run-file.ts";

/** Runs each file that failed once more, by itself. @returns only which kind of failure it was: neither is a success */
export async function runOnceMore(
  files: readonly string[],
  settings: NodeJS.ProcessEnv,
  started: (child: ChildProcess) => void,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const file of files) {
    const { passed } = await runFiles([file], settings, started);
    lines.push(`${file} ${passed ? "is FLAKY: it passed when it ran once more" : "fails again"}`);
  }
  return lines;
}
