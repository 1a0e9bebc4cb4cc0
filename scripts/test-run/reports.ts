import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** What vitest's JSON reporter writes, as far as it is read here. */
export interface Report {
  readonly numPassedTests: number;
  readonly numPendingTests?: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages: readonly string[];
  }[];
}

const SLOWEST_SHOWN = 10;

/** @returns `otherwise` for a part that ended before it wrote or has no tests */
export function readReport<T>(path: string | undefined, otherwise: T): T {
  if (path === undefined) return otherwise;
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return otherwise;
  }
}

/** @returns a line for each of the files that took longest; several run at the same time, so they sum up to more */
export function slowestFiles(testResults: Report["testResults"]): readonly string[] {
  return testResults
    .map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST_SHOWN)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(18)} s  ${relative(process.cwd(), name)}\n`);
}

/** @returns a line or two for each failed test of one file; for the file itself when it did not load */
export function failuresOf({ name, status, message, assertionResults }: FileResult): readonly string[] {
  const file = relative(process.cwd(), name);
  const tests = assertionResults.filter((test) => test.status === "failed");
  if (tests.length === 0 && status === "failed") return [`${file}\n${headOf(message)}`];
  return tests.map(
    ({ fullName, failureMessages }) => `${file} > ${fullName}\n${headOf(failureMessages[0] ?? "without a word")}`,
  );
}

function headOf(message: string): string {
  const lines = stripVTControlCharacters(message).split("\n");
  return lines
    .slice(0, 4)
    .map((line) => `    ${line.slice(0, 300)}`)
    .join("\n");
}
