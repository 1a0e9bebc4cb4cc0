// `npm test`, `npm run test:rest [-- --budget 45m]`, `npm run test:full`: the parts of a tier (scripts/test-run/tiers.ts has the files of
// each), in rows. Goes on after a failure, so that one run shows all of them, and ends in one line with the totals. A part that crashes
// or tests nothing counts as one failure, because no report is no success. A machine that has no Docker and may not start one skips the
// stories on a kind cluster; one without Python skips the fuzzer of the API. Both print that they skipped.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { usePlainOutput } from "./running/plain-output.ts";
import { useTempFolder } from "./running/temp-folder.ts";
import { runOnceMore } from "./test-run/once-more.ts";
import type { Order } from "./test-run/order/order.ts";
import { committedState, recordFullRun, recordLastRuns } from "./test-run/record.ts";
import { failuresOf, type Report, readReport, slowestFiles } from "./test-run/reports.ts";
import { API_FUZZ, planRest, type Rest } from "./test-run/rest.ts";
import { readTestOptions } from "./test-run/test-options.ts";
import type { Tier } from "./test-run/tiers.ts";
import type { FileTime, Times } from "./test-run/times-reporter.ts";

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

const { tier, budget, budgetSeconds } = readTestOptions(process.argv.slice(2));
usePlainOutput();
useTempFolder();
const startedAt = Date.now();
const commit = committedState(process.cwd());
const deadline = startedAt + budgetSeconds * 1_000;
const reports = mkdtempSync(join(tmpdir(), "sallyport-test-"));
const coverage = join(reports, "coverage");
mkdirSync(coverage);
const running = new Set<ChildProcess>();
const interruption = new AbortController();
/** Its reason is the signal's name. */
const interrupted = interruption.signal;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    interruption.abort(name);
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
  // Recorded by full runs, used by the others. `SALLYPORT_TEST_COVERAGE=0` is for a test that is suspected to fail only so.
  SALLYPORT_TEST_COVERAGE: tier === "full" && process.env.SALLYPORT_TEST_COVERAGE !== "0" ? coverage : undefined,
};

const rest: Rest | undefined = tier === "rest" ? planRest(process.cwd(), budgetSeconds) : undefined;
if (rest !== undefined) {
  process.stdout.write(rest.words);
  const order: Order = { files: rest.files, ...(Number.isFinite(deadline) && { deadline }) };
  env.SALLYPORT_TEST_ORDER = join(reports, "order.json");
  writeFileSync(env.SALLYPORT_TEST_ORDER, JSON.stringify(order));
}

/** One run of vitest, so that no core is idle while the other ends the last file of a project. */
const TESTS = ["unit", "chart", "integration"];
const ALL_TESTS = [...TESTS, "faults"];

/** Beside the others: together they have one core idle for most of their time. */
const BESIDE = [
  { ...vitest(["e2e"]), command: ["node", "test/e2e/main.ts", ...reporters("e2e")] },
  { ...npm("test:api-fuzz"), title: "api-fuzz" },
] as const;

/** Each test file that the change touches, five times under load: what is flaky is seen before it lands. Bounded by itself. */
const AGAIN_LEFT_OUT = join(reports, "again.json");
const AGAIN: Part = {
  title: "changed test files again",
  command: [
    ...(["node", "scripts/test-run/again.ts", "--changed", "--times", "5", "--limit", "10m"] as const),
    ...(["--left-out", AGAIN_LEFT_OUT] as const),
  ],
};

/** Rows run one after the other, the parts of a row at the same time. */
const TIERS: Readonly<Record<Tier, readonly (readonly [Part, ...Part[]])[]>> = {
  default: [[npm("check")], [npm("programs")], [vitest(TESTS)]],
  rest: [[npm("programs")], [vitest(ALL_TESTS), ...BESIDE], [AGAIN]],
  full: [[npm("check")], [npm("programs")], [vitest(ALL_TESTS), ...BESIDE]],
};

/** Exit code of api-fuzz on a machine without Python, and of e2e on one without containers. */
const CANNOT_RUN_HERE = 77;
const MAY_BE_LEFT_OUT = ["api-fuzz", "e2e"];

const E2E = "test/e2e/";
const MOST_SHOWN = 40;
const MOST_ONCE_MORE = 5;

let passed = 0;
let failed = 0;
const broken: string[] = [];
const failures: string[] = [];
const skipped: string[] = [];
const ran: FileTime[] = [];
const failedFiles = new Set<string>();
const cutShort: string[] = [];
const notRun = new Set(TIERS[tier].flat().map(({ title }) => title));
let leftOut = 0;
const whereTimeWent: string[] = [];
for (const row of TIERS[tier]) {
  if (interrupted.aborted) break;
  const [first, ...beside] = row.filter(hasTime);
  if (first === undefined) continue;
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
if (!interrupted.aborted && failedFiles.size > 0) await classifyFailures();
if (tier !== "default") recordLastRuns(ran);

if (tier === "full")
  process.stdout.write(`${recordFullRun(process.cwd(), { ...whatRan(), commit, files: ran, passed }, coverage)}\n`);
process.stdout.write(`\n── where the time went ──\n${whereTimeWent.join("")}`);
if (broken.length > 0) process.stdout.write(`\nfailed: ${broken.join(", ")}\n`);
// Printed again at the end: the test's own output is thousands of lines further up, and a shortened log lacks it.
for (const failure of failures.slice(0, MOST_SHOWN)) process.stdout.write(`  ${failure}\n`);
if (failures.length > MOST_SHOWN) process.stdout.write(`  and ${failures.length - MOST_SHOWN} more\n`);
if (skipped.length > 0) process.stdout.write(`SKIPPED, this machine cannot run it: ${skipped.join(", ")}\n`);
if (leftOut > 0 && tier === "default")
  process.stdout.write(`LEFT OUT, only npm run test:full runs them: ${leftOut} tests\n`);
else if (leftOut > 0) process.stdout.write(`skipped by themselves, as they say above: ${leftOut} tests\n`);
const notAgain = readReport<readonly string[]>(AGAIN_LEFT_OUT, []);
if (notAgain.length > 0)
  process.stdout.write(`LEFT OUT of the runs under load, the limit did not suffice: ${notAgain.join(" ")}\n`);
if (rest !== undefined) process.stdout.write(describeLeftOut(rest));
process.stdout.write(`${interrupted.aborted ? describeStop() : `${passed} passed, ${failed} failed`}\n`);
process.exitCode = interrupted.aborted
  ? 128 + constants.signals[interrupted.reason as NodeJS.Signals]
  : failed > 0
    ? 1
    : 0;

function describeStop(): string {
  const words = [`stopped by ${interrupted.reason}: ${passed} passed, ${failed} failed`];
  if (cutShort.length > 0) words.push(`cut short: ${cutShort.join(", ")}`);
  if (notRun.size > 0) words.push(`not run: ${[...notRun].join(", ")}`);
  return words.join("; ");
}

/** Whether a part has files to run, and time left for them. */
function hasTime(part: Part): boolean {
  if (rest === undefined || part === AGAIN) return true;
  const needs = { e2e: E2E, "api-fuzz": API_FUZZ }[part.title] ?? "";
  return rest.files.some(({ file }) => file.startsWith(needs)) && Date.now() < deadline;
}

/** What the budget has left out, by plan or because the time was up earlier than planned: loudly, near the end of the output. */
function describeLeftOut({ files, leftOut }: Rest): string {
  const done = new Set(ran.filter(({ state }) => state === "passed" || state === "failed").map(({ file }) => file));
  const isOver = Date.now() > deadline;
  const overtaken = files.filter(({ file }) => isOver && !done.has(file));
  const names = [...leftOut, ...overtaken].map(({ file }) => file);
  return names.length === 0 ? "" : `LEFT OUT, the budget of ${budget} did not suffice: ${names.join(" ")}\n`;
}

function whatRan(): { readonly seconds: number; readonly lacking: string | undefined } {
  const lacking = interrupted.aborted
    ? "it was stopped"
    : failed > 0
      ? "it failed"
      : skipped.length > 0 && `it lacks ${skipped}`;
  return { seconds: (Date.now() - startedAt) / 1_000, lacking: lacking || undefined };
}

async function classifyFailures(): Promise<void> {
  const more = failedFiles.size - MOST_ONCE_MORE;
  process.stdout.write(`\n── the files that failed, once more${more > 0 ? `, without ${more} of them` : ""} ──\n`);
  const started = (child: ChildProcess) => {
    running.add(child);
    child.once("close", () => running.delete(child));
  };
  const files = [...failedFiles].slice(0, MOST_ONCE_MORE);
  const lines = await runOnceMore(files, env, started, interrupted);
  // Printed beside the failures, too: the end of the output is what is read.
  failures.push(...lines);
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

function tell(part: Part, ended: Outcome): void {
  const report = readReport<Report>(part.report, { numPassedTests: 0, testResults: [] });
  const times = readReport<Times>(timesOf(part.title), { isCut: false, files: [], errors: [] });
  ran.push(...times.files);
  const { seconds } = ended;
  const { isCut } = times;
  const begun = new Set(
    times.files.filter(({ state }) => state !== "pending" && state !== "queued").map(({ file }) => file),
  );
  // Of a run that was cut vitest says that it failed, and so did each file that had not begun.
  const testResults = report.testResults.filter(({ name }) => !isCut || begun.has(relative(process.cwd(), name)));
  for (const { file, state } of times.files)
    if (state === "failed" && !file.startsWith("test/e2e/")) failedFiles.add(file);
  const failuresHere = [...testResults.flatMap(failuresOf), ...times.errors];
  // Of what was ended in its midst nothing is known.
  const isStopped = interrupted.aborted && ended.code !== 0 && failuresHere.length === 0;
  const isUnproved = !isStopped && provesNothing(part, report);
  const code = isCut && failuresHere.length === 0 ? 0 : ended.code || (isUnproved ? 1 : 0);
  if (part.title === "api-fuzz" && code === 0) ran.push({ file: API_FUZZ, seconds: Number(seconds), state: "passed" });
  passed += report.numPassedTests;
  leftOut += report.numPendingTests ?? 0;
  failed += failuresHere.length;
  failures.push(...failuresHere);
  if (code === CANNOT_RUN_HERE && MAY_BE_LEFT_OUT.includes(part.title)) skipped.push(part.title);
  else if (isStopped) cutShort.push(part.title);
  else if (code !== 0) {
    broken.push(part.title);
    if (failuresHere.length === 0) failed += 1;
  }
  const outcome = isStopped ? "stopped" : code === 0 ? "ok" : skipped.includes(part.title) ? "SKIPPED" : "FAILED";
  process.stdout.write(`── ${part.title}: ${outcome}, ${seconds} s ──\n`);
  whereTimeWent.push(`${seconds.padStart(8)} s  ${part.title}\n`, ...slowestFiles(testResults));
}

/**
 * A run that ends with 0 may have run no test: `process.exit(0)` while it starts. Only the rest of a change may be nothing, and what
 * was stopped says so by itself.
 */
function provesNothing({ title, report }: Part, { numPassedTests }: Report): boolean {
  if (report === undefined || interrupted.aborted) return false;
  const proves = existsSync(report) && (tier === "rest" || numPassedTests > 0);
  if (!proves) process.stdout.write(`${title} ended with 0, and reports no test that passed\n`);
  return !proves;
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
  const ours = "--reporter=./scripts/test-run/times-reporter.ts";
  return [
    "--reporter=default",
    "--reporter=./scripts/test-run/json-reporter.ts",
    ours,
    `--outputFile.json=${reportOf(title)}`,
  ];
}

function reportOf(title: string): string {
  return join(reports, `${title}.json`);
}

function timesOf(title: string): string {
  return join(reports, `${title}.times.json`);
}

/** @param isKept writes the output to a file and prints it later, so that two parts do not mix theirs */
async function run({ title, command: [program, ...args] }: Part, isKept = false): Promise<Outcome> {
  notRun.delete(title);
  const log = join(reports, `${title}.log`);
  const file = isKept ? openSync(log, "w") : undefined;
  const out = file ?? "inherit";
  const beganAt = Date.now();
  const ofPart = { ...env, SALLYPORT_TEST_TIMES: timesOf(title) };
  const child = spawn(program, args, { stdio: ["inherit", out, out], env: ofPart });
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
  return { code, log, seconds: ((Date.now() - beganAt) / 1000).toFixed(1) };
}
