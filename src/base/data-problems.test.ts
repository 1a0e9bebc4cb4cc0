import fc from "fast-check";
import { expect, test } from "vitest";
import { dataProblems } from "./data-problems.ts";

const said = (value: unknown): readonly string[] =>
  dataProblems(value).map(({ path, message }) => `${path.join("/")} ${message}`);

test.each([
  ["escape sequences", "a\u001b[2J", "U+001B"],
  ["a return in a line", "evil\rgood", "U+000D"],
  ["what turns the direction", "a\u202eb", "U+202E"],
  ["an isolate", "a\u2066b", "U+2066"],
  ["a mark of direction", "a\u200fb", "U+200F"],
  ["nothing", "a\0", "U+0000"],
  ["a second set of controls", "a\u009b1m", "U+009B"],
  ["half a character", "a\ud800", "U+D800"],
])("%s in a text and in a name is told with its place", (_, text, code) => {
  const words = `has the character ${code}, which a terminal shows falsely`;
  expect(said({ data: { a: text, b: [text] } })).toEqual([`data/a ${words}`, `data/b/0 ${words}`]);
  expect(said({ data: { [text]: "a" } })).toEqual([`data ${words.replace("has", "has a name with")}`]);
});

test.each([
  ["a file of Windows", "\ufeffa\r\nb\r\n\tc"],
  ["Persian, with a joiner of no width", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
  ["an emoji of several", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"],
  ["an icon for private use", "\ue0b0 \u{f0000}"],
  ["what shows nothing", "a\u00adb\u200bc\u2060d\u3164"],
  ["other line breaks", "a\u2028b\u2029c"],
])("%s passes", (_, text) => {
  expect(said({ data: { a: text, [text]: "" } })).toEqual([]);
});

test("numbers that JSON readers round, and nesting without an end, are told; all at once and no more than fifty", () => {
  expect(said({ a: 2 ** 53, b: 2 ** 53 - 1, c: 0.1, d: 1e300 })).toEqual([
    "a is a number that JSON readers round: put it in quotes",
    "d is a number that JSON readers round: put it in quotes",
  ]);
  let deep: unknown = "a\u202eb";
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(said(deep)).toEqual([expect.stringContaining("is nested more than 64 deep")]);
  expect(said(Array(1_000).fill("\0"))).toHaveLength(50);
});

test("property: a text is refused in each place of a value or in none", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 20 }), (text) => {
      const isRefused = dataProblems(text).length > 0;
      expect(dataProblems([text]).length > 0).toBe(isRefused);
      expect(dataProblems({ a: { b: text } }).length > 0).toBe(isRefused);
      expect(dataProblems({ [text]: 1 }).length > 0).toBe(isRefused);
    }),
  );
});
