// `npm test`: check, then unit, chart, integration and (shortened) fault tests, the stories on a kind cluster, and a
// fuzzer on the API. Goes on after a failure, so that one run shows all of them, and ends in one line with the totals.
// A part that crashes counts as one failure, because no report is no success. A machine that has no Docker and may not
// start one skips the stories; one without Python skips the fuzzer. Both print that they skipped.

import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

const reports = mkdtempSync(join(tmpdir(), "sallyport-test-"));
const running = new Set();
let interrupted;
for (const name of ["SIGINT", "SIGTERM"]) {
  process.on(name, () => {
    interrupted ??= name;
    // The terminal's Ctrl-C has reached the parts already; a signal from `kill` reaches only us.
    for (const child of running) child.kill(name);
  });
}

// 200 points of failure take a quarter of an hour; `npm run test:faults` runs them.
const fewFaults = { SALLYPORT_FAULT_POINTS: process.env.SALLYPORT_FAULT_POINTS ?? "6" };

/** Rows run one after the other, the parts of a row at the same time: neither part of the last row fills two cores. */
const PARTS = [
  [npm("check")],
  [npm("programs")],
  [vitest(["unit"])],
  // One run of vitest for parts whose files take minutes each, so that no core is idle while another ends its last
  // file.
  [vitest(["chart", "integration", "faults"], fewFaults)],
  [
    { ...vitest(["e2e"]), command: ["node", "test/e2e/main.ts", ...reporters("e2e")] },
    { ...npm("test:api-fuzz"), title: "api-fuzz" },
  ],
];

/** Exit code of api-fuzz on a machine without Python, and of e2e on one without containers. */
const CANNOT_RUN_HERE = 77;
const MAY_BE_LEFT_OUT = ["api-fuzz", "e2e"];

const MOST_SHOWN = 40;
const SLOWEST_SHOWN = 10;

let passed = 0;
let failed = 0;
const broken = [];
const failures = [];
const skipped = [];
let leftOut = 0;
const times = [];
for (const [first, ...beside] of PARTS) {
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
if (leftOut > 0) process.stdout.write(`LEFT OUT, only npm run test:long runs them: ${leftOut} tests\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = interrupted !== undefined ? 128 + constants.signals[interrupted] : failed > 0 ? 1 : 0;

function tell(part, { code, seconds }) {
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
function slowestFiles(testResults) {
  return testResults
    .map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST_SHOWN)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(18)} s  ${relative(process.cwd(), name)}\n`);
}

function npm(script) {
  return { title: script, command: ["npm", "run", "--silent", script] };
}

function vitest(projects, env = {}) {
  const title = projects.join("+");
  const named = projects.map((project) => `--project=${project}`);
  const command = ["vitest", "run", ...named, "--passWithNoTests", ...reporters(title)];
  return { title, command, env, report: reportOf(title) };
}

function reporters(title) {
  return ["--reporter=default", "--reporter=json", `--outputFile.json=${reportOf(title)}`];
}

function reportOf(title) {
  return join(reports, `${title}.json`);
}

/** @param isKept writes the output to a file and prints it later, so that two parts do not mix theirs */
async function run({ title, command: [program, ...args], env }, isKept = false) {
  const log = join(reports, `${title}.log`);
  const out = isKept ? openSync(log, "w") : "inherit";
  const startedAt = Date.now();
  const child = spawn(program, args, { stdio: ["inherit", out, out], env: { ...process.env, ...env } });
  running.add(child);
  const code = await new Promise((resolve) => {
    child.once("error", (error) => {
      process.stdout.write(`${program} did not start: ${error.message}\n`);
      resolve(1);
    });
    child.once("close", (ended) => resolve(ended ?? 1));
  });
  running.delete(child);
  if (isKept) closeSync(out);
  return { code, log, seconds: ((Date.now() - startedAt) / 1000).toFixed(1) };
}

/** What vitest wrote; nothing for a part that ended before it wrote or has no tests. */
function read(report) {
  try {
    return JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { numPassedTests: 0, testResults: [] };
  }
}

/** @returns a line or two for each failed test of one file; for the file itself when it did not load */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative(process.cwd(), name);
  const tests = assertionResults.filter((test) => test.status === "failed");
  if (tests.length === 0 && status === "failed") return [`${file}\n${headOf(message)}`];
  return tests.map(
    ({ fullName, failureMessages }) => `${file} > ${fullName}\n${headOf(failureMessages[0] ?? "without a word")}`,
  );
}

function headOf(message) {
  const lines = stripVTControlCharacters(String(message)).split("\n");
  return lines
    .slice(0, 4)
    .map((line) => `    ${line.slice(0, 300)}`)
    .join("\n");
}
