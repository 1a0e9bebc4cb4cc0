// `npm run test:again -- FILE [FILE…]`: runs each file many times, set-up included, at full length, while processes keep the
// cores busy: what races fails here and not some day in CI. `--help` has the options.

import type { ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join, relative, resolve } from "node:path";
import { readOptions, refuse, type Script } from "../running/options.ts";
import { usePlainOutput } from "../running/plain-output.ts";
import { useTempFolder } from "../running/temp-folder.ts";
import { startLoad } from "./load.ts";
import { parseBudget } from "./order/order-files.ts";
import { changedTests } from "./order/plan.ts";
import { runFile } from "./run-file.ts";
import { isTestFile } from "./tiers.ts";

const ROOT = join(import.meta.dirname, "../..");
const SCRIPT: Script = {
  name: "npm run test:again",
  help: `usage: npm run test:again -- (FILE [FILE…] | --changed) [options]

Runs each test file many times, at full length and under load. Exit code 1: a run failed, or none ended.

  --changed        in place of files: the test files that differ from the base, the last touched first
  --times N        runs of each file (20)
  --load N         processes that keep the cores busy meantime (6)
  --limit 10m      ends after so long and names what is left out; default: no limit
  --left-out FILE  writes the names of what is left out to FILE, as JSON
  --help           this text
`,
};

const { values, positionals } = readOptions(
  SCRIPT,
  {
    times: { type: "string", default: "20" },
    load: { type: "string", default: "6" },
    limit: { type: "string" },
    "left-out": { type: "string" },
    changed: { type: "boolean", default: false },
  },
  { allowPositionals: true },
);
const times = wholeNumber("times", values.times, 1);
const load = wholeNumber("load", values.load, 0);
const limitSeconds = values.limit === undefined ? Number.POSITIVE_INFINITY : parseBudget(values.limit);
if (limitSeconds === undefined) refuse(SCRIPT, `--limit is a time such as 10m, not ${values.limit}`);
if (values.changed === positionals.length > 0) refuse(SCRIPT, "name test files, or --changed alone");

const changed = values.changed ? changedTests(ROOT) : undefined;
const files = changed?.files ?? positionals.map(testFile);
const words = `${counted(times, "run")} ${files.length === 1 ? "of it" : "of each"} under a load of ${load}`;
const atMost = values.limit === undefined ? "without a limit of time" : `for ${values.limit} at most`;
if (changed !== undefined) {
  const have = files.length === 1 ? "has" : "have";
  const found = files.length === 0 ? "no test file has" : `${counted(files.length, "test file")} ${have}`;
  const rest = files.length === 0 ? "" : `: ${words}, ${atMost}`;
  process.stdout.write(`${found} changed since ${changed.base}${rest}\n`);
}
if (files.length > 0) {
  usePlainOutput();
  useTempFolder();
  process.exitCode = await again(limitSeconds);
}

async function again(limitSeconds: number): Promise<number> {
  const stopLoad = startLoad(load);
  let running: ChildProcess | undefined;
  let ended: "SIGINT" | "SIGTERM" | "time is up" | undefined;
  const end = (why: NonNullable<typeof ended>) => {
    ended ??= why;
    running?.kill("SIGTERM");
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => end(name));
  if (limitSeconds < Number.POSITIVE_INFINITY) setTimeout(() => end("time is up"), limitSeconds * 1_000).unref();
  const lines: string[] = [];
  const leftOut: string[] = [];
  let failed = 0;
  let allRuns = 0;
  for (const file of files) {
    let passed = 0;
    let runs = 0;
    while (runs < times && ended === undefined) {
      const run = `${file}: run ${runs + 1} of ${times}`;
      process.stdout.write(`${run} …\n`);
      const outcome = await runFile(file, { SALLYPORT_TEST_FULL: "1", ...process.env }, (child) => {
        running = child;
      });
      // What was ended in its midst says nothing.
      if (ended !== undefined) break;
      runs += 1;
      if (outcome.passed) passed += 1;
      else process.stdout.write(`${outcome.output}\n`);
      process.stdout.write(`${run} ${outcome.passed ? "passed" : "FAILED"}\n`);
    }
    failed += runs - passed;
    allRuns += runs;
    const isWhole = runs === times;
    if (!isWhole) leftOut.push(file);
    const rest = isWhole ? "" : `, LEFT OUT: ${counted(times - runs, "run")}`;
    lines.push(`${file}: ${passed} of ${counted(runs, "run")} passed under a load of ${load}${rest}`);
  }
  stopLoad();
  process.stdout.write(`\n${lines.join("\n")}\n`);
  if (values["left-out"] !== undefined) writeFileSync(values["left-out"], JSON.stringify(leftOut));
  if (ended === "SIGINT" || ended === "SIGTERM") return 128 + constants.signals[ended];
  if (allRuns === 0)
    process.stdout.write(`nothing is shown: the limit of ${values.limit} did not suffice for one run\n`);
  return failed > 0 || allRuns === 0 ? 1 : 0;
}

/** @returns the path as vitest has it, seen from the root */
function testFile(typed: string): string {
  const file = relative(ROOT, resolve(typed));
  if (!existsSync(join(ROOT, file))) refuse(SCRIPT, `${typed}: no such file`);
  if (file.startsWith("test/e2e/"))
    refuse(SCRIPT, `${typed} needs a cluster, which npm run test:e2e -- ${file} makes for it`);
  if (!isTestFile(file)) refuse(SCRIPT, `${typed} is no test file`);
  return file;
}

function wholeNumber(name: string, text: string, least: number): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) < least)
    refuse(SCRIPT, `--${name} is a whole number from ${least} on, not ${text}`);
  return Number(text);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
