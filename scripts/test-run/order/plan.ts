import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Coverage, hitsOf } from "../coverage/coverage.ts";
import { type Base, findBase, type LastRun, readCoverage, readFullRun, readLastRuns } from "../state.ts";
import { type Change, changedFunctions, changesSince, git } from "./changes.ts";
import { edgesOf, type Graph, reaching } from "./import-graph.ts";
import { type OrderedFile, orderFiles } from "./order-files.ts";

export interface Plan {
  readonly ordered: readonly OrderedFile[];
  /** What the change was compared with, for people. */
  readonly base: string;
}

/** Orders test files by what differs from the base. Without git all count as unchanged. */
export function planRun(root: string, tests: readonly string[]): Plan {
  const base = findBase(root, readFullRun(root));
  const changes = base === undefined ? [] : changesSince(base.commit, root);
  const coverage = readCoverage(root);
  const ordered = orderByChange(tests, {
    changes,
    coverage,
    graph: readGraph(root),
    lastRuns: readLastRuns(root),
    read: (path) => readOr(join(root, path), ""),
  });
  const compared = describeBase(base);
  return { ordered, base: coverage === undefined ? `${compared}, by imports: no coverage is recorded` : compared };
}

function describeBase(base: Base | undefined): string {
  return base === undefined
    ? "nothing, there is no git or too little history"
    : `${base.commit.slice(0, 8)} (${base.because})`;
}

export interface Changed {
  readonly files: readonly string[];
  /** As in `Plan`. */
  readonly base: string;
}

/** Test files that differ from the base, the last touched first; e2e's need a cluster each and are not among them. */
export function changedTests(root: string): Changed {
  const base = findBase(root, readFullRun(root));
  if (base === undefined) return { files: [], base: describeBase(base) };
  const now = changesSince(base.commit, root).map(({ path }) => path);
  // Uncommitted ones stand in no commit and come first.
  const lastTouched = git(root, ["log", "--format=", "--name-only", `${base.commit}..HEAD`])
    .split("\n")
    .filter(Boolean);
  const rank = (path: string) => lastTouched.indexOf(path);
  const files = now
    .filter((path) => path.endsWith(".test.ts") && !path.startsWith("test/e2e/") && existsSync(join(root, path)))
    .toSorted((one, other) => rank(one) - rank(other));
  return { files, base: describeBase(base) };
}

export interface Known {
  readonly changes: readonly Change[];
  readonly coverage: Coverage | undefined;
  readonly graph: Graph;
  readonly lastRuns: ReadonlyMap<string, LastRun>;
  /** The text of a file; empty for one that was deleted. */
  readonly read: (path: string) => string;
}

export function orderByChange(tests: readonly string[], known: Known): OrderedFile[] {
  const paths = new Set(known.changes.map(({ path }) => path));
  const code = known.changes.filter(({ path }) => path.startsWith("src/") && path.endsWith(".ts"));
  const functions = new Map(code.map((change) => [change.path, changedFunctions(change, known.read(change.path))]));
  const hits = known.coverage === undefined ? new Map<string, number>() : hitsOf(known.coverage, functions);
  const reached = reaching(known.graph, paths);
  const data = [...paths].filter((path) => !path.endsWith(".ts"));
  return orderFiles(
    tests.map((file) => {
      const last = known.lastRuns.get(file);
      return {
        file,
        changed: paths.has(file),
        hits: hits.get(file) ?? 0,
        reaches: reached.has(file) || data.some((path) => readsData(file, path)),
        ...(last && { lastGreenAt: last.greenAt, seconds: last.seconds }),
      };
    }),
  );
}

/** Golden files and fixtures lie under the folder of their tests; what is under deploy/, charts and clusters install. */
function readsData(test: string, path: string): boolean {
  if (path.startsWith("deploy/")) return /^test\/(chart|e2e)\//.test(test);
  const folder = test.slice(0, test.lastIndexOf("/") + 1);
  return path.startsWith(folder) && folder !== "test/integration/";
}

/** All code that git knows or could know. */
export function readGraph(root: string): Graph {
  const files = new Set(listFiles(root).filter((path) => /\.(ts|mjs)$/.test(path)));
  return { edges: new Map([...files].map((file) => [file, edgesOf(file, readOr(join(root, file), ""), files)])) };
}

function listFiles(root: string): string[] {
  try {
    return git(root, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).split("\0").filter(Boolean);
  } catch {
    return []; // No git: then nothing is known to have changed either.
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
