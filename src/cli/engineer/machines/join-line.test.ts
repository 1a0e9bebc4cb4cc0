import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { joinStringOf, readJoinString } from "../../../contract/machines/join-string.ts";
import { joinLine, usableFields } from "./join-line.ts";

const NOW = new Date("2100-01-01T00:00:00.000Z");
const FIELDS = {
  token: `spj_${"a".repeat(16)}.${"B".repeat(32)}`,
  url: "https://join.customer.example:8443",
  clusterId: `cluster_${"0".repeat(28)}`,
  pin: `sha256//${"A".repeat(43)}=`,
  exp: NOW.getTime() / 1000 + 60,
};

test("the line has the pin and the address, and no secret", () => {
  const line = joinLine(usableFields(`${joinStringOf(FIELDS)}\n`, NOW));
  expect(line).toBe(
    `curl -fsS --pinnedpubkey 'sha256//${"A".repeat(43)}=' -k 'https://join.customer.example:8443/v1/script' | sudo sh -s -- --token-file ./join`,
  );
  expect(line).not.toContain("spj");
});

test("property: a shell reads the line as exactly those words, whatever address and pin are allowed", () => {
  const url = fc.oneof(
    fc.stringMatching(/^https:\/\/[A-Za-z0-9][A-Za-z0-9.-]{0,40}(:[0-9]{1,5})?$/),
    fc.stringMatching(/^https:\/\/\[[0-9A-Fa-f:.]{2,39}\](:[0-9]{1,5})?$/),
  );
  const pin = fc.stringMatching(/^sha256\/\/[A-Za-z0-9+/]{43}=$/);
  fc.assert(
    fc.property(url, pin, (url, pin) => {
      const fields = readJoinString(joinStringOf({ ...FIELDS, url, pin }));
      if (fields === undefined) throw new Error(`not read: ${url} ${pin}`);
      const shell = `curl() { printf '%s\\n' "$@"; }; sudo() { cat; printf '%s\\n' "$@"; }; ${joinLine(fields)}`;
      const words = execFileSync("/bin/sh", ["-c", shell], { encoding: "utf8" }).trimEnd().split("\n");
      expect(words).toEqual([
        ...["-fsS", "--pinnedpubkey", pin, "-k", `${url}/v1/script`],
        ...["sh", "-s", "--", "--token-file", "./join"],
      ]);
    }),
    { numRuns: runs(25) },
  );
});

describe("a join string", () => {
  it("that is over makes no line, and its words have no secret", () => {
    const text = joinStringOf({ ...FIELDS, exp: NOW.getTime() / 1000 });
    expect(() => usableFields(text, NOW)).toThrow("is over since 2100-01-01T00:00:00.000Z");
  });

  it.each([["spj1_secret"], ["spj_0123456789abcdef.secret"], [""]])("%s is none, and is not repeated", (text) => {
    expect(() => usableFields(text, NOW)).toThrow(/^this is no join string: they begin with spj1_$/);
  });
});
