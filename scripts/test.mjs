// `npm test`: check, then unit, a fuzzer on the API, chart, integration and (shortened) fault tests, and the stories on a
// kind cluster. Goes on after a failure, so that one run shows all of them, and ends in one line with the totals. A part
// that crashes counts as one failure: silence is not success. Only a machine without Docker, that may not start one, skips
// a part, and is told so; one without Python skips the fuzzer.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

const reports = mkdtempSync(join(tmpdir(), "sallyport-test-"));
let running;
let interrupted;
for (const name of ["SIGINT", "SIGTERM"]) {
  process.on(name, () => {
    interrupted ??= name;
    // After a terminal's Ctrl-C the part has the signal already; one by hand reaches only us.
    running?.kill(name);
  });
}

const PARTS = [
  { title: "check", command: ["npm", "run", "--silent", "check"] },
  { title: "programs", command: ["npm", "run", "--silent", "programs"] },
  vitest("unit"),
  { title: "api-fuzz", command: ["npm", "run", "--silent", "test:api-fuzz"] },
  vitest("chart"),
  vitest("integration"),
  // 200 points of failure take a quarter of an hour: `npm run test:faults` has them.
  vitest("faults", { SALLYPORT_FAULT_POINTS: process.env.SALLYPORT_FAULT_POINTS ?? "15" }),
  { ...vitest("e2e"), command: ["node", "test/e2e/main.ts", ...reporters("e2e")] },
];

/** What api-fuzz says on a machine without Python, and e2e on one without containers. */
const CANNOT_RUN_HERE = 77;
const MAY_BE_LEFT_OUT = ["api-fuzz", "e2e"];

let passed = 0;
let failed = 0;
const broken = [];
const skipped = [];
for (const part of PARTS) {
  if (interrupted !== undefined) break;
  process.stdout.write(`\n── ${part.title} ──\n`);
  const startedAt = Date.now();
  const code = await run(part);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  const totals = part.report === undefined ? { passed: 0, failed: 0 } : totalsOf(part.report);
  passed += totals.passed;
  failed += totals.failed;
  if (code === CANNOT_RUN_HERE && MAY_BE_LEFT_OUT.includes(part.title)) skipped.push(part.title);
  else if (code !== 0) {
    broken.push(part.title);
    if (totals.failed === 0) failed += 1;
  }
  const outcome = code === 0 ? "ok" : skipped.includes(part.title) ? "SKIPPED" : "FAILED";
  process.stdout.write(`── ${part.title}: ${outcome}, ${seconds} s ──\n`);
}
rmSync(reports, { recursive: true, force: true });

if (interrupted !== undefined) process.stdout.write(`\nstopped by ${interrupted}\n`);
else if (broken.length > 0) process.stdout.write(`\nfailed: ${broken.join(", ")}\n`);
if (skipped.length > 0) process.stdout.write(`SKIPPED, this machine cannot run it: ${skipped.join(", ")}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = interrupted !== undefined ? 128 + constants.signals[interrupted] : failed > 0 ? 1 : 0;

function vitest(project, env = {}) {
  const command = ["vitest", "run", "--project", project, "--passWithNoTests", ...reporters(project)];
  return { title: project, command, env, report: reportOf(project) };
}

function reporters(project) {
  return ["--reporter=default", "--reporter=json", `--outputFile.json=${reportOf(project)}`];
}

function reportOf(project) {
  return join(reports, `${project}.json`);
}

function run({ command: [program, ...args], env }) {
  return new Promise((resolve) => {
    running = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...env } });
    running.once("error", (error) => {
      process.stdout.write(`${program} did not start: ${error.message}\n`);
      resolve(1);
    });
    running.once("close", (code) => resolve(code ?? 1));
  });
}

/** A file that does not even load has no tests to count: it is one failure. */
function totalsOf(file) {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
    const unloaded = testResults.filter(
      ({ status, assertionResults }) =>
        status === "failed" && !assertionResults.some((test) => test.status === "failed"),
    );
    return { passed: numPassedTests, failed: numFailedTests + unloaded.length };
  } catch {
    return { passed: 0, failed: 0 };
  }
}
