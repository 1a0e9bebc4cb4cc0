// `npm run test:again -- FILE [FILE…] [--times 20] [--load 6] [--limit 10m]`: runs each file that many times, set-up
// included, at full length, while that many processes keep the cores busy: what races fails here and not some day in CI.
// `--changed` in place of files: the test files that differ from the base, the last touched first. `--left-out FILE` has the
// names of those for which the limit did not suffice written there, as JSON.

import type { ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startLoad } from "./load.ts";
import { parseBudget } from "./order/order-files.ts";
import { changedTests } from "./order/plan.ts";
import { runFile } from "./run-file.ts";

const ROOT = join(import.meta.dirname, "../..");
const USAGE = "usage: npm run test:again -- (FILE [FILE…] | --changed) [--times 20] [--load 6] [--limit 10m]\n";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "20" },
    load: { type: "string", default: "6" },
    limit: { type: "string" },
    "left-out": { type: "string" },
    changed: { type: "boolean", default: false },
  },
});
const files = values.changed ? changedTests(ROOT) : positionals;
const times = Number(values.times);
const load = Number(values.load);
const limitSeconds = values.limit === undefined ? Number.POSITIVE_INFINITY : parseBudget(values.limit);
const missing = files.filter((file) => !existsSync(join(ROOT, file)));
for (const file of missing) process.stderr.write(`${file}: no such file\n`);

if (values.changed && files.length === 0) process.stdout.write("no test file has changed\n");
else if (files.length === 0 || missing.length > 0 || !(times > 0) || !(load >= 0) || limitSeconds === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else process.exitCode = await again(limitSeconds);

async function again(limitSeconds: number): Promise<number> {
  const stopLoad = startLoad(load);
  let running: ChildProcess | undefined;
  let ended: "interrupted" | "time is up" | undefined;
  const end = (why: NonNullable<typeof ended>) => {
    ended ??= why;
    running?.kill("SIGTERM");
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => end("interrupted"));
  if (limitSeconds < Number.POSITIVE_INFINITY) setTimeout(() => end("time is up"), limitSeconds * 1_000).unref();
  const lines: string[] = [];
  const leftOut: string[] = [];
  let failed = 0;
  for (const file of files) {
    let passed = 0;
    let runs = 0;
    while (runs < times && ended === undefined) {
      const outcome = await runFile(file, { SALLYPORT_TEST_FULL: "1", ...process.env }, (child) => {
        running = child;
      });
      // What was ended in its midst says nothing.
      if (ended !== undefined) break;
      runs += 1;
      if (outcome.passed) passed += 1;
      else process.stdout.write(`${outcome.output}\n`);
      process.stdout.write(`${file}: run ${runs} of ${times} ${outcome.passed ? "passed" : "FAILED"}\n`);
    }
    failed += runs - passed;
    const isWhole = runs === times;
    if (!isWhole) leftOut.push(file);
    const rest = isWhole ? "" : `, LEFT OUT: ${times - runs} runs`;
    lines.push(`${file}: ${passed} of ${runs} runs passed under a load of ${load}${rest}`);
  }
  stopLoad();
  process.stdout.write(`\n${lines.join("\n")}\n`);
  if (values["left-out"] !== undefined) writeFileSync(values["left-out"], JSON.stringify(leftOut));
  return ended === "interrupted" ? 130 : failed > 0 ? 1 : 0;
}
