import { expect, it } from "vitest";
import { type FullRun, formatFullRun, staleness } from "./full-run.ts";

const RUN: FullRun = {
  commit: "0123456789abcdef",
  date: "2026-01-10T12:00:00.000Z",
  seconds: 3_000,
  passed: 12_000,
  failed: 0,
  files: { "src/b.test.ts": 2, "src/a.test.ts": 1 },
};

it.each([
  ["three days to the second", "2026-01-13T12:00:00Z", 0],
  ["three days, in another zone", "2026-01-13T14:00:00+02:00", 0],
  ["600 commits", "2026-01-10T13:00:00Z", 600],
  ["a commit that this clone lacks", "2026-01-11T12:00:00Z", undefined],
  // The record is committed after the run, and may come into a branch that is older.
  ["a commit older than the run", "2026-01-01T12:00:00Z", 0],
])("is fresh: %s", (_, date, commitsSince) => {
  expect(staleness(RUN, { date, commitsSince })).toBeUndefined();
});

it.each([
  [
    "three days and a second",
    "2026-01-13T12:00:01Z",
    0,
    "the newest full run, of 2026-01-10 (01234567), is 3.0 days older than this commit; 3 are allowed.",
  ],
  ["too old although this clone lacks the commit", "2026-01-17T12:00:00Z", undefined, "is 7.0 days older"],
  [
    "601 commits",
    "2026-01-10T13:00:00Z",
    601,
    "601 commits lie after the newest full run, of 2026-01-10 (01234567); 600 are allowed, 20 landings of 30.",
  ],
])("is stale: %s", (_, date, commitsSince, reason) => {
  const found = staleness(RUN, { date, commitsSince });
  expect(found).toContain(reason);
  expect(found).toContain("Run `npm run test:full` and commit test/full-run.json.");
});

it("is stale when there is no record, or one whose date is none", () => {
  expect(staleness(undefined, { date: RUN.date, commitsSince: 0 })).toContain("test/full-run.json is missing");
  expect(staleness({ ...RUN, date: "soon" }, { date: RUN.date, commitsSince: 0 })).toContain("NaN days");
});

it("writes files in order, one a line", () => {
  const text = formatFullRun(RUN);
  expect(JSON.parse(text)).toEqual(RUN);
  expect(text).toMatch(/"src\/a\.test\.ts": 1,\n {4}"src\/b\.test\.ts": 2\n/);
});
