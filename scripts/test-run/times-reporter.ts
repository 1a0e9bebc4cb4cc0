import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from "vitest/node";
import { readOrder } from "./order/order.ts";

/** What times-reporter.ts has to say of one run of vitest. */
export interface Times {
  /** Whether it ended because the time was up. */
  readonly isCut: boolean;
  readonly files: readonly FileTime[];
  /** Of the run and of no test, such as a worker that has no memory left: vitest counts no failed test then. */
  readonly errors: readonly string[];
}

export interface FileTime {
  readonly file: string;
  /** With imports and set-up, which vitest's JSON lacks and which are half of it. */
  readonly seconds: number;
  readonly state: "passed" | "failed" | "skipped" | "pending" | "queued";
}

const PROGRESS_MS = 30_000;

/** Says where no terminal shows it how far the run is. Writes `Times` to the file that SALLYPORT_TEST_TIMES names. @public for vitest, which loads it by its path */
// biome-ignore lint/style/noDefaultExport: how vitest loads a reporter.
export default class TimesReporter implements Reporter {
  readonly #deadline = readOrder()?.deadline ?? Number.POSITIVE_INFINITY;
  /** Modules that ended before the time was up: of one that was running then, the tests that had not begun are skipped. */
  readonly #whole = new Set<string>();

  #files = 0;
  #ended = 0;
  #progress: NodeJS.Timeout | undefined;

  onTestRunStart({ length }: readonly unknown[]): void {
    this.#files = length;
    if (process.stdout.isTTY) return;
    const say = () => process.stdout.write(`   ${this.#ended} of ${this.#files} files\n`);
    this.#progress = setInterval(say, PROGRESS_MS).unref();
  }

  onTestModuleEnd({ id }: TestModule): void {
    this.#ended += 1;
    if (Date.now() < this.#deadline) this.#whole.add(id);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    clearInterval(this.#progress);
    const path = process.env.SALLYPORT_TEST_TIMES;
    if (path === undefined) return;
    const files = modules.map((module): FileTime => {
      const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
        module.diagnostic();
      const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
      return {
        file: module.relativeModuleId,
        seconds: Math.round(ms / 100) / 10,
        state: this.#whole.has(module.id) || module.state() === "failed" ? module.state() : "pending",
      };
    });
    const times: Times = { isCut: reason === "interrupted", files, errors: errors.map(describe) };
    writeFileSync(path, JSON.stringify(times));
  }
}

/** @returns with what it was caused by, which names the file that was running */
function describe({ message, cause }: SerializedError): string {
  return cause === undefined ? message : `${message} ${describe(cause as SerializedError)}`;
}
