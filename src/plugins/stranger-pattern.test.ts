import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../base/testing/runs.ts";
import { PatternJudge } from "./stranger-pattern.ts";

const fault = (pattern: string) => new PatternJudge().fault(pattern);
const matches = (pattern: string, text: string) => new PatternJudge().problem(pattern, text) === undefined;

describe("a stranger's pattern", () => {
  it.each([
    ["a lookahead", "^(?=a)b", "has a lookahead, which RE2 lacks"],
    ["a negative lookahead", "^(?!a)b", "has a lookahead"],
    ["a lookbehind", "(?<=a)b", "has a lookbehind"],
    ["a backreference", "(a)\\1", "has a backreference"],
    ["a named backreference", "(?<x>a)\\k<x>", "has a backreference"],
    ["inline flags", "(?i:a)", "has flags inside"],
    ["no regular expression", "(", "does not compile: Unterminated group"],
    ["an escape that the u flag refuses", "\\a", "does not compile: Invalid escape"],
    ["too long", "a".repeat(513), "is longer than 512 characters"],
    ["nested counts", "(a{1000}){1000}", "has 1000000 positions"],
    ["one count", "[a-z]{1001}", "has 1001 positions"],
    ["many counts", "(?:a{100}){5}(?:b{100}){6}", "has 1100 positions"],
    ["an optional count", "a{0,600}", "has 1200 positions"],
    ["a property that RE2 lacks", "\\p{scx=Greek}", "has \\p{scx=Greek}"],
    ["nested groups", "(".repeat(250) + ")".repeat(250), undefined],
    ["a quantified quantifier", "(a+)+$", undefined],
    ["nothing", "", undefined],
    ["an empty alternative", "a||b", undefined],
  ])("%s", (_, pattern, expected) => {
    expect(fault(pattern)).toEqual(expected === undefined ? undefined : expect.stringContaining(expected));
  });

  it.each([
    // Where RE2 itself would read another thing.
    ["\\s", "\u00a0", true],
    ["\\s", "\ufeff", true],
    ["\\S", "\u2003", false],
    ["[^\\S]", "\u3000", true],
    [".", "\u2028", false],
    [".", "\r", false],
    ["^.$", "\u{1f600}", true],
    ["a$", "a\n", false],
    ["^b", "a\nb", false],
    ["\\d", "٣", false],
    ["\\w", "é", false],
    ["\\bé", "é", false],
    ["[]", "a", false],
    ["^[^]$", "\n", true],
    ["^[[:alpha:]$", ":", true],
    ["^[[:alpha:]$", "b", false],
    ["\\u{1f600}", "\u{1f600}", true],
    ["\\ud83d\\ude00", "\u{1f600}", true],
    ["[\\b]", "\b", true],
    ["\\cA", "\u0001", true],
    ["\\0", "\0", true],
    ["^\\p{Lu}\\p{Script=Greek}$", "Aα", true],
    ["\\P{L}", "a", false],
    ["a{2,3}?$", "aaaa", true],
    ["^(?<x>a)?$", "", true],
    ["^[\\w.-]+@[\\w-]+$", "a.b@c-d", true],
    ["^[^\\d-]$", "-", false],
    ["K", "k", false],
  ])("%s and %j: as ECMAScript reads it", (pattern, text, expected) => {
    expect(new RegExp(pattern, "u").test(text)).toBe(expected);
    expect(matches(pattern, text)).toBe(expected);
  });

  it("means what it means to ECMAScript", () => {
    const atom = fc.constantFrom(
      ..."a b - . \\d \\D \\w \\W \\s \\S \\b \\B ^ $ [ab] [^a-c] [\\s-] [^\\W_] [] [^] \\p{L} \\P{Nd} \\u2028 \\n é".split(
        " ",
      ),
    );
    const count = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "*?");
    const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc.tuple(tie("pattern"), count).map(([inner, times]) => `(?:${inner})${times}`),
      ),
      pattern: fc.array(fc.oneof(tie("part"), fc.constant("|")), { maxLength: 4 }).map((parts) => parts.join("")),
    }));
    const text = fc.string({ unit: fc.constantFrom(..."ab-_ 1é\n\r\u2028\u00a0".split("")), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        if (fault(source) !== undefined) return;
        expect(matches(source, given)).toBe(new RegExp(source, "u").test(given));
      }),
      { numRuns: runs(2000) },
    );
  });
});

describe("one request's patterns", () => {
  it("cost what they cost, whatever the text is", () => {
    const judge = new PatternJudge();
    const text = `${"a".repeat(10_000)}!`;
    expect(judge.problem("^(a+)+$", text)).toBe("must match ^(a+)+$");
    expect(judge.problem("^(a|aa)+$", text)).toBe("must match ^(a|aa)+$");
    expect(judge.problem("^(.*a){20}$", text)).toBe("must match ^(.*a){20}$");
  });

  it("have so many steps together, and say when there are no more", () => {
    const judge = new PatternJudge();
    const pattern = "^[a-z]{0,50}$";
    const answers = Array.from({ length: 30 }, () => judge.problem(pattern, "a".repeat(10_000)));
    expect(answers[0]).toBe(`must match ${pattern}`);
    expect(answers.at(-1)).toBe("is too long to be judged by its pattern, with what is judged beside it");
  });

  it("are so many positions together", () => {
    const judge = new PatternJudge();
    const faults = Array.from({ length: 30 }, (_, index) => judge.fault(`a{900}${index}`));
    expect(faults.filter((each) => each === undefined)).toHaveLength(22);
    expect(faults.at(-1)).toBe("has, with those before, over 20000 positions");
  });
});
