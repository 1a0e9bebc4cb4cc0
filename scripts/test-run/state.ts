import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { COVERAGE, type Coverage } from "./coverage/coverage.ts";
import { type CommitOfRun, FULL_RUN, type FullRun, flawOf } from "./full-run.ts";
import { git } from "./order/changes.ts";

/** Of one test file. */
export interface LastRun {
  /** When it last passed, in ms since 1970. */
  readonly greenAt: number;
  readonly seconds: number;
}

/** Undefined: there is none, or what is there is no record of a green run. */
export function readFullRun(root: string): FullRun | undefined {
  const record = readFullRunAsIs(root);
  return flawOf(record, new Date()) === undefined ? (record as FullRun) : undefined;
}

export function readFullRunAsIs(root: string): unknown {
  return readJson(join(root, FULL_RUN));
}

export function readCoverage(root: string): Coverage | undefined {
  return readJson(join(root, COVERAGE));
}

/** From the full run that is committed and from this machine's own runs since, when its cache is still there. */
export function readLastRuns(root: string): Map<string, LastRun> {
  const run = readFullRun(root);
  const runs = new Map<string, LastRun>();
  for (const [file, seconds] of Object.entries(run?.files ?? {})) {
    runs.set(file, { greenAt: Date.parse(run?.date ?? ""), seconds });
  }
  for (const [file, last] of Object.entries(readJson<Record<string, LastRun>>(ownRuns() ?? "") ?? {})) {
    if (last.greenAt > (runs.get(file)?.greenAt ?? 0)) runs.set(file, last);
  }
  return runs;
}

/** Adds to what this machine knows of its runs. */
export function writeLastRuns(runs: Readonly<Record<string, LastRun>>): void {
  const path = ownRuns();
  if (path === undefined) return;
  mkdirSync(dirname(path), { recursive: true });
  // Two runs may end at the same time: the later one wins as a whole, and a reader never sees half a file.
  writeFileSync(`${path}.${process.pid}`, JSON.stringify({ ...readJson<object>(path), ...runs }));
  renameSync(`${path}.${process.pid}`, path);
}

/** Undefined: the cache may be another's, who would say which files need no run. */
function ownRuns(): string | undefined {
  try {
    return join(cacheRoot(process.env), "test-runs/last-runs.json");
  } catch {
    return undefined;
  }
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Commits that a clone without a usable full run takes for the change: a landing's. */
const COMMITS_BACK = 30;

export interface Base {
  readonly commit: string;
  readonly because: string;
}

/** The commit that a change is compared with; undefined without git or history. git does not know what landed together. */
export function findBase(root: string, run: FullRun | undefined): Base | undefined {
  const named = process.env.SALLYPORT_TEST_BASE;
  if (named) return { commit: commitOf(root, named, true), because: "SALLYPORT_TEST_BASE" };
  const ofRun = run && commitOfRun(root, run.commit);
  // A record is committed after its run: one that names what is checked out was written by hand, or is not committed yet.
  if (ofRun !== undefined && ofRun.commitsSince > 0) return { commit: ofRun.commit, because: "the newest full run" };
  const back = commitOf(root, `HEAD~${COMMITS_BACK}`);
  return back === undefined
    ? undefined
    : { commit: back, because: `${COMMITS_BACK} commits back: no full run is known` };
}

/** Undefined without git, and for a commit that did not lead to the one that is checked out: its files say nothing of these. */
export function commitOfRun(root: string, commit: string): CommitOfRun | undefined {
  try {
    git(root, ["merge-base", "--is-ancestor", "--end-of-options", commit, "HEAD"]);
    const date = git(root, ["log", "-1", "--format=%cI", "--end-of-options", commit]).trim();
    const count = git(root, ["rev-list", "--count", "--end-of-options", `${commit}..HEAD`]);
    return { commit, date, commitsSince: Number(count) };
  } catch {
    return undefined;
  }
}

function commitOf(root: string, name: string, isRequired: true): string;
function commitOf(root: string, name: string): string | undefined;
function commitOf(root: string, name: string, isRequired = false): string | undefined {
  try {
    return git(root, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]).trim();
  } catch (cause) {
    if (isRequired) throw new Error(`${name} is no commit of this clone`, { cause });
    return undefined;
  }
}
