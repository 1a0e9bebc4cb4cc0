import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { returnPath } from "./return-to.ts";

const OURS = "https://sallyport.example:8443";

describe("a path to return to", () => {
  it.each([
    ["/", "/"],
    ["/docs", "/docs"],
    ["/a/b?x=1&y=%2F%2Felsewhere#part", "/a/b?x=1&y=%2F%2Felsewhere#part"],
    ["/a/../b", "/b"],
    ["/ü", "/%C3%BC"],
    ["/?next=https://elsewhere.example", "/?next=https://elsewhere.example"],
    ["/@elsewhere.example", "/@elsewhere.example"],
  ])("%s is ours", (given, path) => expect(returnPath(given)).toBe(path));

  it.each([
    "",
    "docs",
    "//elsewhere.example",
    "///elsewhere.example",
    "/\\elsewhere.example",
    "\\\\elsewhere.example",
    "/\t/elsewhere.example",
    "\t//elsewhere.example",
    "/\n/elsewhere.example",
    " //elsewhere.example",
    "/.//elsewhere.example",
    "/a/..//elsewhere.example",
    "/%2e//elsewhere.example",
    "/a/%2e%2e//elsewhere.example",
    "https://elsewhere.example/",
    "https:elsewhere.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "/a\u0000b",
    "/a\u0085b",
    `/${"a".repeat(2048)}`,
  ])("%j is refused", (given) => expect(returnPath(given)).toBeUndefined());

  it("leads to us, whatever is accepted", () => {
    const part = fc.constantFrom(
      "/",
      "\\",
      ".",
      "../..",
      "%2e",
      "%2f",
      "%5c",
      ":",
      "@",
      "//",
      "\t",
      "\n",
      " ",
      "elsewhere.example",
      "?",
      "#",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(fc.oneof(part, fc.string({ maxLength: 3 })), { maxLength: 12 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, (given) => {
        for (const attempt of [given, `/${given}`]) {
          const path = returnPath(attempt);
          if (path === undefined) continue;
          const { origin } = new URL(path, OURS);
          expect(origin).toBe(OURS);
          // What we return is accepted, and means itself.
          expect(returnPath(path)).toBe(path);
        }
      }),
      { numRuns: runs(5_000) },
    );
  });
});
