import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";
import { join, relative } from "node:path";
import { afterAll, expect } from "vitest";
import type { TestCoverage } from "./coverage.ts";
import { executedFunctions, takeReports } from "./executed.ts";

/*
 * A set-up file of vitest, in effect when SALLYPORT_TEST_COVERAGE names a folder: writes there, for each test file, which
 * functions of src it ran in the worker and in the processes that it started.
 */

const ROOT = join(import.meta.dirname, "../../..");
const KEY = Symbol.for("sallyport.coverage");
// A worker that runs several files runs this once a file and keeps its session.
const kept = globalThis as { [KEY]?: Session };

/**
 * Files whose processes are recorded, too: those that run the product as a user does. Not units and not plugins: what a
 * process may do under Node's permission model is another thing while its coverage is taken.
 */
const WITH_PROCESSES = /^test\/(integration\/(?!plugins\/|operator\/plugin-)|faults\/)/;

const folder = process.env.SALLYPORT_TEST_COVERAGE;
if (folder !== undefined) record(folder);

function record(folder: string): void {
  const test = relative(ROOT, expect.getState().testPath ?? "");
  const name = createHash("sha256").update(test).digest("hex").slice(0, 16);
  const children = join(folder, `${name}-children`);
  mkdirSync(children, { recursive: true });
  // Node hands it to each child, also to one that gets an environment of its own.
  if (WITH_PROCESSES.test(test)) process.env.NODE_V8_COVERAGE = children;
  // Or that of the file before in this worker stays.
  else delete process.env.NODE_V8_COVERAGE;
  if (kept[KEY] === undefined) {
    kept[KEY] = new Session();
    kept[KEY].connect();
    kept[KEY].post("Profiler.enable");
    // Functions and not blocks: less than a tenth of a unit test's CPU, where blocks take a quarter. Counted, because what is not
    // counted is reported for the first file of a worker only.
    kept[KEY].post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }
  take(kept[KEY]);
  afterAll(() => {
    const found = [executedFunctions(take(kept[KEY]), ROOT), ...takeReports(children, ROOT)];
    const runs: readonly TestCoverage[] = found.map((functions) => ({ test, functions }));
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(runs));
  });
}

function take(session: Session | undefined): Profiler.ScriptCoverage[] {
  let taken: Profiler.ScriptCoverage[] = [];
  session?.post("Profiler.takePreciseCoverage", (error, { result }) => {
    if (error !== null) throw error;
    taken = result;
  });
  return taken;
}
