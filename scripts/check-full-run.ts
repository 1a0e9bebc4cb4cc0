import { join } from "node:path";
import { staleness } from "./test-run/full-run.ts";
import { git } from "./test-run/order/changes.ts";
import { readFullRun } from "./test-run/state.ts";

/** Fails when the newest green run of all tests is too old for the commit that is checked out. */
const root = join(import.meta.dirname, "..");
const date = tryGit("log", "-1", "--format=%cI");
if (date === undefined) console.log("full run: not checked, this is no git repository");
else {
  const run = readFullRun(root);
  const count = run && tryGit("rev-list", "--count", `${run.commit}..HEAD`, "--");
  const reason = staleness(run, { date, commitsSince: count === undefined ? undefined : Number(count) });
  if (reason !== undefined) {
    console.error(reason);
    process.exitCode = 1;
  }
}

function tryGit(...args: readonly string[]): string | undefined {
  try {
    return git(root, args).trim() || undefined;
  } catch {
    return undefined;
  }
}
