import fc from "fast-check";
import { expect, test } from "vitest";
import { errorText, lineWithoutCommands, printable, printableLine } from "./printable.ts";

test("what a terminal would obey or hide is gone; line breaks and tabs stay", () => {
  expect(printable("a\u001b[31mb\u202ec\u200bd\u0000e\u2028f\u3164g", 99)).toBe("a[31mbcdefg");
  expect(printable("a\n\tb", 99)).toBe("a\n\tb");
  expect(printableLine("a\n\t b ", 99)).toBe("a b");
});

test("too long is cut with an ellipsis, never through a character", () => {
  expect(printable("abcdef", 4)).toBe("abc…");
  expect(printable("ab😀😀", 4)).not.toMatch(/[\ud800-\udfff](?![\udc00-\udfff])/);
  expect(printable("\ud800", 9)).toBe("\ufffd");
});

test("any text comes out printable and within its limit", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (text, max) => {
      const clean = printable(text, max);
      expect(clean.length).toBeLessThanOrEqual(max);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the test.
      expect(clean).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u);
      expect(clean.isWellFormed()).toBe(true);
    }),
  );
});

test("a line stays within its limit also where a command in it becomes longer", () => {
  expect(lineWithoutCommands("kubectl kubectl", 15)).toBe("kube_ctl kube_…");
});

test("an error is its message, and anything else its text", () => {
  expect([errorText(new Error("a\nb")), errorText("c"), errorText(undefined)]).toEqual(["a b", "c", "undefined"]);
});
