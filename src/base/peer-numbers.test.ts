import { expect, test } from "vitest";
import {
  clamped,
  isResumable,
  PageTurns,
  PEER_NUMBERS,
  type PeerNumber,
  retryAfterOf,
  within,
} from "./peer-numbers.ts";

const now = new Date("2026-01-01T00:00:00Z");

test.each([
  ["5", 5000],
  [" 5 ", 5000],
  ["0", 0],
  ["3600", 60_000],
  ["9".repeat(400), 60_000],
  ["Thu, 01 Jan 2026 00:00:10 GMT", 10_000],
  ["Thursday, 01-Jan-26 00:00:10 GMT", 10_000],
  ["Thu Jan  1 00:00:10 2026 GMT", 10_000],
  ["Thu, 01 Jan 2026 00:00:00 GMT", 0],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
  ["Fri, 01 Jan 2100 00:00:00 GMT", 60_000],
  ["soon", undefined],
  ["Soon, I think", undefined],
  ["-5", undefined],
  ["1.5", undefined],
  ["1e9", undefined],
  ["", undefined],
  [undefined, undefined],
])("Retry-After %j is %j ms", (value, expected) => {
  expect(retryAfterOf("apiServerRetryAfterMs", value, now)).toBe(expected);
});

test.each(Object.keys(PEER_NUMBERS) as PeerNumber[])("%s has bounds, and what is no number is none", (name) => {
  const { least, most } = PEER_NUMBERS[name];
  expect(least).toBeLessThan(most);
  expect([least, most].every(Number.isSafeInteger)).toBe(true);
  const beyond = [Number.NEGATIVE_INFINITY, least - 1, least, most, most + 1, Number.POSITIVE_INFINITY];
  expect(beyond.map((value) => clamped(name, value))).toEqual([least, least, least, most, most, most]);
  expect(beyond.map((value) => within(name, value))).toEqual([undefined, undefined, least, most, undefined, undefined]);
  expect([Number.NaN, "5", null, undefined, {}].map((value) => clamped(name, value))).toEqual(Array(5).fill(undefined));
});

test.each<readonly [string, readonly (readonly [number, string])[], string | undefined]>([
  [
    "goes on",
    [
      [500, "a"],
      [500, "b"],
      [0, "c"],
      [1, "d"],
    ],
    undefined,
  ],
  [
    "gives the same mark twice",
    [
      [500, "a"],
      [500, "a"],
    ],
    "the mark of the next page is that of this page",
  ],
  [
    "gives a mark of a megabyte",
    [[1, "x".repeat(1_000_000)]],
    "the mark of the next page is longer than 65536 characters",
  ],
  [
    "has no objects",
    Array.from({ length: 100 }, (_, at) => [0, `${at}`] as const),
    "100 pages in a row have no object",
  ],
  ["never ends", Array.from({ length: 20_000 }, (_, at) => [1, `${at}`] as const), "it has more than 20000 pages"],
])("a list that %s", (_, pages, wrong) => {
  const turns = new PageTurns();
  const answers = pages.map(([items, mark]) => turns.turn(items, mark));
  expect(answers.at(-1)).toBe(wrong);
  expect(answers.slice(0, -1).every((each) => each === undefined)).toBe(true);
});

test.each([
  ["7", true],
  ["18446744073709551615", true],
  ["", false],
  ["0", false],
  ["000", false],
  ["9".repeat(129), false],
])("a watch can begin after version %s: %s", (version, expected) => {
  expect(isResumable(version)).toBe(expected);
});
