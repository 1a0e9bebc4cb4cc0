import { expect, it } from "vitest";
import { portable } from "./portable-pattern.ts";
import { HUMAN_LINE, HUMAN_TEXT } from "./schema.ts";

it.each([HUMAN_LINE, HUMAN_TEXT])("the written-out form of %s takes and refuses the same characters", (pattern) => {
  const short = new RegExp(pattern, "u");
  const long = new RegExp(portable(pattern), "u");
  expect(long.source).not.toContain("\\p");
  const differing: number[] = [];
  for (let point = 0; point <= 0x10ffff; point += 1) {
    const text = String.fromCodePoint(point);
    if (short.test(text) !== long.test(text)) differing.push(point);
  }
  expect(differing).toEqual([]);
});

it("leaves a pattern without categories as it is", () => {
  expect(portable("^[a-z](-?[a-z0-9])*$")).toBe("^[a-z](-?[a-z0-9])*$");
});
