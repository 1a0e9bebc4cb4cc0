import { expect, it } from "vitest";
import { HUMAN_TEXT } from "../../../contract/wire/schema.ts";
import { UNREADABLE_PARAMS } from "./readable-params.ts";

const PLATFORM = new RegExp(HUMAN_TEXT, "u");
/** RE2 writes code points in braces as `\x{…}`, JavaScript as `\u{…}`. */
const CLUSTER = new RegExp(UNREADABLE_PARAMS.replaceAll(String.raw`\x{`, String.raw`\u{`), "u");

/** As Go's strconv.Quote writes a character that does not print; what prints comes as it is. */
function escaped(codePoint: number): string {
  const known: Readonly<Record<number, string>> = { 7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r" };
  const letter = known[codePoint];
  if (letter !== undefined) return `\\${letter}`;
  if (codePoint < 0x20 || codePoint === 0x7f) return `\\x${codePoint.toString(16).padStart(2, "0")}`;
  if (codePoint <= 0xffff) return `\\u${codePoint.toString(16).padStart(4, "0")}`;
  return `\\U${codePoint.toString(16).padStart(8, "0")}`;
}

it("of every code point the cluster's policy says what the platform says, however the server writes it", () => {
  const apart: string[] = [];
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
    const character = String.fromCodePoint(codePoint);
    const passes = PLATFORM.test(character);
    const shown = character === "\\" || character === '"' ? `\\${character}` : character;
    const plain = !CLUSTER.test(`map[a:"x${shown}y"]`);
    // strconv.Quote escapes only characters that do not print.
    const unprintable = !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character);
    const quoted = !unprintable || !CLUSTER.test(`map[a:"${escaped(codePoint)}"]`);
    if (plain !== passes || (unprintable && quoted !== passes)) apart.push(codePoint.toString(16));
  }
  expect(apart).toEqual([]);
});

it.each(["a\\\\u200b", "C:\\\\Users\\\\a", '\\"', "\\n\\t"])("a backslash that is a backslash is text: %s", (text) => {
  expect(CLUSTER.test(`map[a:"${text}"]`)).toBe(false);
});

it.each(["\\u200b", "\\\\\\u200b", "\\x1b", "\\U000e0041", "\\u00ad", "\\a"])(
  "%s is refused wherever it stands",
  (text) => {
    expect([`map[a:"${text}"]`, `map[${text}:1]`, `"x${text}"`].every((shown) => CLUSTER.test(shown))).toBe(true);
  },
);
