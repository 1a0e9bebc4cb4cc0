import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { COVERAGE, formatCoverage, makeCoverage } from "./coverage/coverage.ts";
import { readCoverageFolder } from "./coverage/coverage-folder.ts";
import { FULL_RUN, type FullRun, formatFullRun } from "./full-run.ts";
import { git } from "./order/changes.ts";
import { writeLastRuns } from "./state.ts";
import type { FileTime } from "./times-reporter.ts";

/** What a run of the full tier, or of a part of it, has shown. */
export interface Ran {
  readonly files: readonly FileTime[];
  readonly seconds: number;
  readonly passed: number;
  /** What was checked out when it began. */
  readonly commit: string | Uncommitted;
  /** Why it is not the green run of everything; undefined when it is. */
  readonly lacking: string | undefined;
}

/** A record that grows beyond this burdens every clone. */
const MOST_BYTES = 1_000_000;

/** For the order of this machine's next run. Of one run all get one time, so that none of them counts as longer unrun. */
export function recordLastRuns(files: readonly FileTime[]): void {
  const greenAt = Date.now();
  const green = files.filter(({ state }) => state === "passed");
  try {
    writeLastRuns(Object.fromEntries(green.map(({ file, seconds }) => [file, { greenAt, seconds }])));
  } catch (error) {
    // The run counts all the same.
    const why = error instanceof Error ? error.message : error;
    process.stdout.write(`the order of the next run will not know of this one: ${why}; set XDG_CACHE_HOME\n`);
  }
}

/**
 * Writes test/full-run.json and test/coverage.json, to be committed. Both speak of a commit: of a tree that is no
 * commit nothing is written.
 *
 * @returns a line that says what was written, or why nothing was
 */
export function recordFullRun(root: string, ran: Ran, coverageFolder: string): string {
  const commit = committedState(root);
  const lacking = ran.lacking ?? lackingCommit(ran.commit, commit);
  if (typeof commit !== "string" || lacking !== undefined) return `full run: not recorded, ${lacking}`;
  const passed = ran.files.filter(({ state }) => state === "passed");
  const run: FullRun = {
    commit,
    date: new Date().toISOString(),
    seconds: Math.round(ran.seconds),
    passed: ran.passed,
    failed: 0,
    files: Object.fromEntries(passed.map(({ file, seconds }) => [file, seconds])),
  };
  write(join(root, FULL_RUN), formatFullRun(run));
  const covered = readCoverageFolder(coverageFolder, root);
  if (covered.length === 0) return `full run: ${FULL_RUN} is written, commit it; no coverage was taken`;
  const coverage = formatCoverage(makeCoverage(covered));
  if (coverage.length > MOST_BYTES) {
    return `full run: ${FULL_RUN} is written, commit it; ${COVERAGE} is not, it would have ${coverage.length} bytes`;
  }
  write(join(root, COVERAGE), coverage);
  return `full run: ${FULL_RUN} and ${COVERAGE} are written, commit them`;
}

/** Why what is checked out is no commit. */
interface Uncommitted {
  readonly why: string;
}

/** @returns the commit that is checked out, without any change */
export function committedState(root: string): string | Uncommitted {
  try {
    if (git(root, ["status", "--porcelain"]).trim() !== "") return { why: "there are changes that are not committed" };
    return git(root, ["rev-parse", "HEAD"]).trim();
  } catch {
    return { why: "this is no git repository" };
  }
}

function lackingCommit(before: string | Uncommitted, now: string | Uncommitted): string | undefined {
  for (const state of [before, now]) if (typeof state !== "string") return state.why;
  return before === now ? undefined : "another commit was checked out while it ran";
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
