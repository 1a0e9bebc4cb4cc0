import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { type FullRun, flawOf, formatFullRun, staleness } from "./full-run.ts";
import { findBase } from "./state.ts";

const RUN: FullRun = {
  commit: "0123456789abcdef0123456789abcdef01234567",
  date: "2026-01-10T12:00:00.000Z",
  seconds: 3_000,
  passed: 12_000,
  failed: 0,
  files: { "src/b.test.ts": 2, "src/a.test.ts": 1 },
};

const NOW = new Date("2026-01-10T13:00:00Z");
const ofRun = (commitsSince: number, date = "2026-01-10T11:00:00Z") => ({ commit: RUN.commit, date, commitsSince });

it.each([
  ["three days to the second", "2026-01-13T12:00:00Z", 0],
  ["three days, in another zone", "2026-01-13T14:00:00+02:00", 0],
  ["600 commits", "2026-01-10T13:00:00Z", 600],
  // The record is committed after the run, and may come into a branch that is older.
  ["a commit older than the run", "2026-01-01T12:00:00Z", 0],
])("is fresh: %s", (_, date, commitsSince) => {
  expect(staleness(RUN, { date, ofRun: ofRun(commitsSince), isShallow: false })).toBeUndefined();
});

it("is fresh in a shallow clone that lacks the commit", () => {
  expect(staleness(RUN, { date: "2026-01-11T12:00:00Z", ofRun: undefined, isShallow: true })).toBeUndefined();
});

it.each([
  [
    "three days and a second",
    { date: "2026-01-13T12:00:01Z", ofRun: ofRun(0) },
    "the newest full run, of 2026-01-10 (01234567), is 3.0 days older than this commit; 3 are allowed.",
  ],
  ["too old for a shallow clone", { date: "2026-01-17T12:00:00Z", isShallow: true }, "is 7.0 days older"],
  [
    "601 commits",
    { date: "2026-01-10T13:00:00Z", ofRun: ofRun(601) },
    "601 commits lie after the newest full run, of 2026-01-10 (01234567); 600 are allowed, 20 landings of 30.",
  ],
  ["a commit of another history", { date: RUN.date }, "is of a commit that did not lead to this one"],
  [
    "an end before its commit",
    { date: "2026-01-10T13:00:00Z", ofRun: ofRun(1, "2026-01-10T14:00:01+02:00") },
    "ended before its commit was made, at 2026-01-10T14:00:01+02:00",
  ],
])("is stale: %s", (_, head, reason) => {
  const found = staleness(RUN, { ofRun: undefined, isShallow: false, ...head });
  expect(found).toContain(reason);
  expect(found).toContain("Run `npm run test:full` and commit test/full-run.json.");
});

it("is a record when it is of a green run of a commit", () => {
  expect(flawOf(RUN, NOW)).toBeUndefined();
});

it.each<[string, object, string]>([
  ["a commit of zeros that is short", { commit: "0000" }, "names no commit by its whole hash"],
  ["an option for git", { commit: "--all" }, "names no commit by its whole hash"],
  ["a branch", { commit: "HEAD" }, "names no commit by its whole hash"],
  ["two lines", { commit: `${RUN.commit}\n` }, "names no commit by its whole hash"],
  ["a date in a later century", { date: "2199-01-01T00:00:00Z" }, "a date that is none or lies ahead, 2199"],
  ["a day and a second ahead", { date: "2026-01-11T13:00:01Z" }, "a date that is none or lies ahead"],
  ["no date", { date: "soon" }, "a date that is none or lies ahead, soon"],
  ["a date of another type", { date: 5 }, "a date that is none or lies ahead, 5"],
  ["nothing passed", { passed: 0 }, "is of a run that was not green"],
  ["a count in words", { passed: "all" }, "is of a run that was not green"],
  ["a failure", { failed: 1 }, "is of a run that was not green"],
  ["no files", { files: null }, "names no files"],
  ["files without seconds", { files: { "a.test.ts": "1" } }, "has seconds that are no numbers"],
])("is no record: %s", (_, change, reason) => {
  expect(flawOf({ ...RUN, ...change }, NOW)).toContain(reason);
});

it.each([undefined, null, 5, []])("is no record: %j", (record) => {
  expect(flawOf(record, NOW)).toBeDefined();
});

it("is the base of a change when its commit led to it, and only then", () => {
  const root = mkdtempSync(join(tmpdir(), "sallyport-base-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  vi.stubEnv("SALLYPORT_TEST_BASE", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null" };
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, env, encoding: "utf8" }).trim();
  const commit = () => {
    const who = ["-c", "user.name=a", "-c", "user.email=a@example.test"];
    git(...who, "commit", "--quiet", "--allow-empty", "--message=a");
    return git("rev-parse", "HEAD");
  };
  const base = (named: string) => findBase(root, { ...RUN, commit: named })?.commit;
  git("init", "--quiet", "--initial-branch=main");
  const first = commit();
  git("checkout", "--quiet", "-b", "side");
  const aside = commit();
  git("checkout", "--quiet", "main");
  // Their hashes would be one, made in the same second.
  const head = git(
    "-c",
    "user.name=b",
    "-c",
    "user.email=b@example.test",
    "commit-tree",
    "-p",
    first,
    "-m",
    "b",
    "HEAD^{tree}",
  );
  git("reset", "--quiet", "--hard", head);
  expect(base(first)).toBe(first);
  expect(base(aside)).toBeUndefined();
  expect(base(head)).toBeUndefined();
  expect(base("0".repeat(40))).toBeUndefined();
});

it("writes files in order, one a line", () => {
  const text = formatFullRun(RUN);
  expect(JSON.parse(text)).toEqual(RUN);
  expect(text).toMatch(/"src\/a\.test\.ts": 1,\n {4}"src\/b\.test\.ts": 2\n/);
});
