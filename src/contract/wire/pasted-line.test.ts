import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { isTypedWord, NAMESPACE, pastedLine, RESOURCE_PLURAL, TYPED_NAME, TYPED_URL } from "./pasted-line.ts";

/** The words as a shell takes them: each line is the arguments of one `show`. */
function shellWords(lines: readonly string[]): string[][] {
  const show = `show() { for word in "$@"; do printf '%s\\0' "$word"; done; printf '\\1'; }`;
  const script = `${show}\n${lines.map((line) => `show ${line}`).join("\n")}\n`;
  const out = execFileSync("/bin/sh", ["-s"], { input: script, encoding: "utf8", env: { HOME: "/home/x" } });
  return out
    .split("\u0001")
    .slice(0, -1)
    .map((words) => words.split("\0").slice(0, -1));
}

const HOSTILE = [
  "--kubeconfig",
  "-n",
  "a;id",
  "$(id)",
  "`id`",
  "a b",
  "a\nb",
  "*",
  "?",
  "~",
  "a'b",
  'a"b',
  "a|b",
  "a&b",
];
const REST = [
  "a>b",
  "a<b",
  "#a",
  "!a",
  "a\\b",
  "{a,b}",
  "",
  "=a",
  "%1",
  "a\u00a0b",
  "\u202ea",
  "a\u0000b",
  "[a]",
  "a=b",
];

describe("a line to be pasted", () => {
  it("has exactly the words that it was made of, whatever they were", () => {
    const near = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,40}$/);
    const any = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...HOSTILE, ...REST));
    fc.assert(
      fc.property(fc.array(fc.oneof(near, any), { minLength: 1, maxLength: 40 }), (words) => {
        const made = words.map((word) => ({
          word,
          line: pastedLine`kubectl patch ${word} -n ${word} -p '{"a":"${word}"}'`,
        }));
        const given = made.filter(({ line }) => line !== undefined);
        expect(shellWords(given.map(({ line }) => line ?? ""))).toEqual(
          given.map(({ word }) => ["kubectl", "patch", word, "-n", word, "-p", `{"a":"${word}"}`]),
        );
        for (const { word } of given) expect(word).toMatch(/^[A-Za-z0-9]/);
      }),
      { numRuns: runs(50) },
    );
  });

  it.each([...HOSTILE, ...REST])("is not made with %j", (word) => {
    expect(pastedLine`kubectl get ${word}`).toBeUndefined();
    for (const pattern of [NAMESPACE, RESOURCE_PLURAL, TYPED_NAME, TYPED_URL])
      expect(word).not.toMatch(new RegExp(pattern, "u"));
  });

  it.each([
    [NAMESPACE, /^[a-z0-9][-a-z0-9]{0,20}$/],
    [RESOURCE_PLURAL, /^[a-z0-9.-]{1,30}$/],
    [TYPED_NAME, /^.{1,20}$/],
  ])("takes all that %s lets in", (pattern, near) => {
    const takes = new RegExp(pattern, "u");
    fc.assert(fc.property(fc.stringMatching(near), (text) => !takes.test(text) || isTypedWord(text)));
  });

  it.each([
    ["https://manager.example.com", true],
    ["https://manager.example.com:8443/base/path", true],
    ["http://127.0.0.1:8080", true],
    ["http://[::1]:8080/", true],
    ["https://user@manager.example.com", false],
    ["https://manager.example.com/$(id)", false],
    ["https://manager.example.com/;id", false],
    ["https://manager.example.com/?a=b&c", false],
    ["https://-manager/", false],
  ])("knows an address that can be typed: %s", (url, ok) => {
    expect(new RegExp(TYPED_URL, "u").test(url)).toBe(ok);
  });
});
