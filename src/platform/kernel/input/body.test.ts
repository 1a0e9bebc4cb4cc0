import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_DEPTH, MAX_VALUES, parseBody } from "./body.ts";

function read(text: string): unknown {
  try {
    return parseBody(Buffer.from(text), "application/json");
  } catch (error) {
    const { code, detail } = error as { code: string; detail: { context?: { issues: { message: string }[] } } };
    return detail.context?.issues[0]?.message ?? code;
  }
}

describe("a body", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const many = (count: number, of: string) => `[${Array(count).fill(of).join(",")}]`;
  const TOO_MANY = `has more than ${MAX_VALUES} values`;
  const TOO_DEEP = `is nested deeper than ${MAX_DEPTH}`;

  it.each<[string, string, string]>([
    ["of too many values", many(MAX_VALUES + 2, "1"), TOO_MANY],
    [
      "of too many keys",
      `{${Array(MAX_VALUES + 2)
        .fill('"a":1')
        .join(",")}}`,
      TOO_MANY,
    ],
    ["nested too deep", nested(MAX_DEPTH + 2), TOO_DEEP],
    ["of objects nested too deep", `${'{"a":'.repeat(MAX_DEPTH + 2)}1${"}".repeat(MAX_DEPTH + 2)}`, TOO_DEEP],
    // What is no JSON shows by this that it was not parsed.
    ["that opens and never closes", "[".repeat(500_000), TOO_DEEP],
    ["of commas alone", ",".repeat(500_000), TOO_MANY],
    ["that is no JSON", '{"a":', "MALFORMED_JSON"],
    ["that ends within a text", '{"a\\', "MALFORMED_JSON"],
  ])("%s is refused", (_, text, message) => {
    expect(read(text)).toBe(message);
  });

  it.each([
    ["as many values as may be", many(MAX_VALUES, "1")],
    ["as many levels as may be", nested(MAX_DEPTH + 1)],
    ["lists beside each other", many(1000, nested(60))],
    ["punctuation within text", JSON.stringify(["[".repeat(500_000), ",".repeat(300_000), '"\\"[\\', "{"])],
  ])("of %s is read", (_, text) => {
    expect(read(text)).toEqual(JSON.parse(text));
  });

  it("of any JSON is read as it is", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        expect(read(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});
