import { join } from "node:path";
import { FULL_RUN, type FullRun, flawOf, staleness, WHAT_TO_DO } from "./test-run/full-run.ts";
import { git } from "./test-run/order/changes.ts";
import { commitOfRun, readFullRunAsIs } from "./test-run/state.ts";

/** Fails when the newest green run of all tests is too old for the commit that is checked out. */
const root = join(import.meta.dirname, "..");
const date = tryGit("log", "-1", "--format=%cI");
if (date === undefined) console.log("full run: not checked, this is no git repository");
else {
  const reason = problemAt(date);
  if (reason !== undefined) {
    console.error(reason);
    process.exitCode = 1;
  }
}

function problemAt(date: string): string | undefined {
  const record = readFullRunAsIs(root);
  const flaw = flawOf(record, new Date());
  if (flaw !== undefined) return `${FULL_RUN} ${flaw}. ${WHAT_TO_DO}`;
  const run = record as FullRun;
  const ofRun = commitOfRun(root, run.commit);
  const isShallow = tryGit("rev-parse", "--is-shallow-repository") === "true";
  if (ofRun === undefined && isShallow)
    console.log(
      "full run: its commit is not checked, this clone is shallow: `git fetch --unshallow` brings the others",
    );
  return staleness(run, { date, ofRun, isShallow });
}

function tryGit(...args: readonly string[]): string | undefined {
  try {
    return git(root, args).trim() || undefined;
  } catch {
    return undefined;
  }
}
