import fc from "fast-check";
import { expect, test } from "vitest";
import { decoded } from "./decoded.ts";

const utf16 = (text: string, isBig = false): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
  return isBig ? bytes.swap16() : bytes;
};
const of = (...parts: readonly (string | Buffer | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

test.each([
  ["UTF-8", of("a: é\n")],
  ["UTF-8 with a mark", of([0xef, 0xbb, 0xbf], "a: é\n")],
  ["UTF-16, low byte first, as PowerShell writes it", utf16("a: é\n")],
  ["UTF-16, high byte first", utf16("a: é\n", true)],
])("%s is a text", (_, bytes) => {
  expect(decoded(bytes)).toBe("a: é\n");
});

test.each([
  ["Latin-1", of("a: 1\nb: caf", [0xe9], "\n"), "is no UTF-8: line 2 has the byte 0xe9. Of Latin-1 or"],
  ["Latin-1 behind UTF-8", of("é\nü\n", [0xe9], "x"), "is no UTF-8: line 3 has the byte 0xe9"],
  ["a character that is cut", of("a\né", [0xc3]), "is no UTF-8: line 2 has the byte 0xc3"],
  ["half a character of UTF-16 as UTF-8", of([0xed, 0xa0, 0x80]), "is no UTF-8: line 1 has the byte 0xed"],
  [
    "UTF-16 without a mark",
    Buffer.from("a: b", "utf16le"),
    "is no text: line 1 has the byte 0x00. Of UTF-16, save it as UTF-8",
  ],
  ["UTF-16 behind UTF-8", of("a\n", Buffer.from("b\n", "utf16le")), "is no text: line 2 has the byte 0x00"],
  ["UTF-16 that is cut", utf16("ab").subarray(0, 5), "begins as UTF-16 and is none"],
  ["UTF-32", of([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), "is UTF-32: save it as UTF-8"],
  ["UTF-32, high byte first", of([0, 0, 0xfe, 0xff, 0, 0, 0, 0x61]), "is UTF-32: save it as UTF-8"],
])("%s is told as an encoding", (_, bytes, words) => {
  expect(() => decoded(bytes)).toThrow(words);
});

test("property: of any bytes there is their text, or the line of the first that is none", () => {
  const text = fc.string({ unit: "binary", maxLength: 30 }).map((value) => value.replaceAll("\0", "\n").toWellFormed());
  fc.assert(
    fc.property(text, fc.constantFrom(0x80, 0xc3, 0xe2, 0xf0, 0xff), text, (before, byte, after) => {
      expect(decoded(of("x", before))).toBe(`x${before}`);
      const line = before.split("\n").length;
      const bytes = of("x", before, [byte], "x", after);
      expect(() => decoded(bytes)).toThrow(`line ${line} has the byte 0x${byte.toString(16)}`);
    }),
  );
});
