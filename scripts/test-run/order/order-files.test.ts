import { expect, it } from "vitest";
import { cutByBudget, describeCut, orderFiles, parseBudget, type TestFile, UNKNOWN_SECONDS } from "./order-files.ts";

const named = (...files: readonly TestFile[]) => orderFiles(files).map(({ file }) => file);
const DAY = 86_400_000;

it.each<[string, TestFile, TestFile]>([
  ["changed before running a changed line", { file: "z", changed: true }, { file: "a", hits: 9 }],
  ["running a changed line before reaching a changed file", { file: "z", hits: 1 }, { file: "a", reaches: true }],
  ["reaching a changed file before longest unrun", { file: "z", reaches: true, lastGreenAt: DAY }, { file: "a" }],
  ["more hits first", { file: "z", hits: 2, seconds: 90 }, { file: "a", hits: 1, seconds: 1 }],
  [
    "among equal hits the longest unrun",
    { file: "z", hits: 1, lastGreenAt: DAY },
    { file: "a", hits: 1, lastGreenAt: 2 * DAY },
  ],
  ["never run before run once", { file: "z" }, { file: "a", lastGreenAt: DAY, seconds: 1 }],
  [
    "longest unrun before cheap",
    { file: "z", lastGreenAt: DAY, seconds: 90 },
    { file: "a", lastGreenAt: 2 * DAY, seconds: 1 },
  ],
  ["cheap before dear", { file: "z", hits: 1, seconds: 1 }, { file: "a", hits: 1, seconds: 2 }],
  [
    "known to be cheap before unknown",
    { file: "z", changed: true, seconds: UNKNOWN_SECONDS - 1 },
    { file: "a", changed: true },
  ],
  ["dear before cheap when neither is near the change", { file: "z", seconds: 2 }, { file: "a", seconds: 1 }],
  ["by name when nothing else differs", { file: "a" }, { file: "z" }],
])("orders %s", (_, first, second) => {
  expect(named(first, second)).toEqual([first.file, second.file]);
  expect(named(second, first)).toEqual([first.file, second.file]);
});

const ORDERED = orderFiles([
  { file: "a", changed: true, seconds: 100 },
  { file: "b", hits: 3, seconds: 300 },
  { file: "c", seconds: 30, lastGreenAt: DAY },
  { file: "d", seconds: 60, lastGreenAt: 2 * DAY },
]);

it.each([
  [245, "abcd", ""],
  [244, "abc", "d"],
  [199, "acd", "b"],
  [49, "cd", "ab"],
  [0, "", "abcd"],
])("takes in %d seconds with two workers %s and leaves out %s", (seconds, taken, leftOut) => {
  const cut = cutByBudget(ORDERED, seconds, 2);
  const names = (files: typeof ORDERED) => files.map(({ file }) => file).join("");
  expect({ taken: names([...cut.taken]), leftOut: names([...cut.leftOut]) }).toEqual({ taken, leftOut });
});

it("names what was left out, and why it was to run", () => {
  expect(describeCut(cutByBudget(ORDERED, 199, 2), 199)).toBe(
    `order of 3 test files: 1 changed, 2 longest without a run
LEFT OUT, the budget of 199 s does not suffice for 1 test files:
  b (runs a changed line, 300 s)
`,
  );
});

it("says nothing of a budget that suffices", () => {
  expect(describeCut(cutByBudget(ORDERED, 1_000, 2), 1_000)).toBe(
    "order of 4 test files: 1 changed, 1 runs a changed line, 2 longest without a run\n",
  );
});

it.each([
  ["45m", 2_700],
  ["90s", 90],
  ["1h", 3_600],
  ["2700", 2_700],
  ["", undefined],
  ["45 m", undefined],
  ["-1m", undefined],
])("reads the budget %j as %j seconds", (text, seconds) => expect(parseBudget(text)).toBe(seconds));
