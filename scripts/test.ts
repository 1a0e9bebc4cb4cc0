// `npm test`, `npm run test:rest`, `npm run test:full`: the parts of a tier (scripts/test-run/tiers.ts has the files of each), one after the
// other. Goes on after a failure, so that one run shows all of them, and ends in one line with the totals. A part that crashes
// counts as one failure, because no report is no success. A machine that has no Docker and may not start one skips the
// stories on a kind cluster; one without Python skips the fuzzer of the API. Both print that they skipped.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type Tier, tierOf } from "./test-run/tiers.ts";

interface Part {
  readonly title: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** The file that vitest's JSON reporter writes. */
  readonly report?: string;
}

interface Outcome {
  readonly code: number;
  readonly log: string;
  readonly seconds: string;
}

interface Report {
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

const tier = tierOf(process.argv[2]);
const reports = mkdtempSync(join(tmpdir(), "sallyport-test-"));
const running = new Set<ChildProcess>();
let interrupted: NodeJS.Signals | undefined;
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    interrupted ??= name;
    // The terminal's Ctrl-C has reached the parts already; a signal from `kill` reaches only us.
    for (const child of running) child.kill(name);
  });
}

// 200 points of failure take a quarter of an hour; `npm run test:faults` runs them.
const env: NodeJS.ProcessEnv = {
  ...process.env,
  SALLYPORT_TEST_TIER: tier,
  SALLYPORT_TEST_FULL: tier === "default" ? "0" : "1",
  SALLYPORT_FAULT_POINTS: process.env.SALLYPORT_FAULT_POINTS ?? "6",
};

/** One run of vitest for parts whose files take minutes each, so that no core is idle while another ends its last file. */
const INTEGRATION = ["chart", "integration", "faults"];

/** Neither fills two cores. */
const KIND = [
  { ...vitest(["e2e"]), command: ["node", "test/e2e/main.ts", ...reporters("e2e")] },
  { ...npm("test:api-fuzz"), title: "api-fuzz" },
] as const;

/** Rows run one after the other, the parts of a row at the same time. */
const TIERS: Readonly<Record<Tier, readonly (readonly [Part, ...Part[]])[]>> = {
  default: [[npm("check")], [npm("programs")], [vitest(["unit"])], [vitest(["chart", "integration"])]],
  rest: [[npm("programs")], [vitest(["unit", ...INTEGRATION])], KIND],
  full: [[npm("check")], [npm("programs")], [vitest(["unit"])], [vitest(INTEGRATION)], KIND],
};

/** Exit code of api-fuzz on a machine without Python, and of e2e on one without containers. */
const CANNOT_RUN_HERE = 77;
const MAY_BE_LEFT_OUT = ["api-fuzz", "e2e"];

const MOST_SHOWN = 40;
const SLOWEST_SHOWN = 10;

let passed = 0;
let failed = 0;
const broken: string[] = [];
const failures: string[] = [];
const skipped: string[] = [];
let leftOut = 0;
const times: string[] = [];
for (const [first, ...beside] of TIERS[tier]) {
  if (interrupted !== undefined) break;
  const kept = beside.map((part) => ({ part, ran: run(part, true) }));
  process.stdout.write(`\n── ${first.title} ──\n`);
  tell(first, await run(first));
  for (const { part, ran } of kept) {
    const outcome = await ran;
    process.stdout.write(`\n── ${part.title} ──\n`);
    process.stdout.write(readFileSync(outcome.log));
    tell(part, outcome);
  }
}
rmSync(reports, { recursive: true, force: true });

process.stdout.write(`\n── where the time went ──\n${times.join("")}`);
if (interrupted !== undefined) process.stdout.write(`\nstopped by ${interrupted}\n`);
else if (broken.length > 0) process.stdout.write(`\nfailed: ${broken.join(", ")}\n`);
// Printed again at the end: the test's own output is thousands of lines further up, and a shortened log lacks it.
for (const failure of failures.slice(0, MOST_SHOWN)) process.stdout.write(`  ${failure}\n`);
if (failures.length > MOST_SHOWN) process.stdout.write(`  and ${failures.length - MOST_SHOWN} more\n`);
if (skipped.length > 0) process.stdout.write(`SKIPPED, this machine cannot run it: ${skipped.join(", ")}\n`);
if (leftOut > 0) process.stdout.write(`LEFT OUT, only npm run test:full runs them: ${leftOut} tests\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = interrupted !== undefined ? 128 + constants.signals[interrupted] : failed > 0 ? 1 : 0;

function tell(part: Part, { code, seconds }: Outcome): void {
  const { numPassedTests, numPendingTests = 0, testResults } = read(part.report);
  const failuresHere = testResults.flatMap(failuresOf);
  passed += numPassedTests;
  leftOut += numPendingTests;
  failed += failuresHere.length;
  failures.push(...failuresHere);
  if (code === CANNOT_RUN_HERE && MAY_BE_LEFT_OUT.includes(part.title)) skipped.push(part.title);
  else if (code !== 0) {
    broken.push(part.title);
    if (failuresHere.length === 0) failed += 1;
  }
  const outcome = code === 0 ? "ok" : skipped.includes(part.title) ? "SKIPPED" : "FAILED";
  process.stdout.write(`── ${part.title}: ${outcome}, ${seconds} s ──\n`);
  times.push(`${seconds.padStart(8)} s  ${part.title}\n`, ...slowestFiles(testResults));
}

/** @returns a line for each of the files that took longest; several run at the same time, so they sum up to more */
function slowestFiles(testResults: Report["testResults"]): readonly string[] {
  return testResults
    .map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST_SHOWN)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(18)} s  ${relative(process.cwd(), name)}\n`);
}

function npm(script: string): Part {
  return { title: script, command: ["npm", "run", "--silent", script] };
}

function vitest(projects: readonly string[]): Part {
  const title = projects.join("+");
  const named = projects.map((project) => `--project=${project}`);
  return {
    title,
    command: ["vitest", "run", ...named, "--passWithNoTests", ...reporters(title)],
    report: reportOf(title),
  };
}

function reporters(title: string): readonly string[] {
  return ["--reporter=default", "--reporter=json", `--outputFile.json=${reportOf(title)}`];
}

function reportOf(title: string): string {
  return join(reports, `${title}.json`);
}

/** @param isKept writes the output to a file and prints it later, so that two parts do not mix theirs */
async function run({ title, command: [program, ...args] }: Part, isKept = false): Promise<Outcome> {
  const log = join(reports, `${title}.log`);
  const file = isKept ? openSync(log, "w") : undefined;
  const out = file ?? "inherit";
  const startedAt = Date.now();
  const child = spawn(program, args, { stdio: ["inherit", out, out], env });
  running.add(child);
  const code = await new Promise<number>((resolve) => {
    child.once("error", (error) => {
      process.stdout.write(`${program} did not start: ${error.message}\n`);
      resolve(1);
    });
    child.once("close", (ended) => resolve(ended ?? 1));
  });
  running.delete(child);
  if (file !== undefined) closeSync(file);
  return { code, log, seconds: ((Date.now() - startedAt) / 1000).toFixed(1) };
}

/** What vitest wrote; nothing for a part that ended before it wrote or has no tests. */
function read(report: string | undefined): Report {
  if (report === undefined) return { numPassedTests: 0, testResults: [] };
  try {
    return JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { numPassedTests: 0, testResults: [] };
  }
}

/** @returns a line or two for each failed test of one file; for the file itself when it did not load */
function failuresOf({ name, status, message, assertionResults }: FileResult): readonly string[] {
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
