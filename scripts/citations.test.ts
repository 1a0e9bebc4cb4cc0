import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { danglingIn, repeated, rulesOf } from "./citations.ts";

/** The sign itself would be a citation of this file. */
const S = "\u00a7";
const RULES = new Set(["2", "2.1", "10.2"]);

test.each([
  `/** As ${S}2.1 says, and ${S}10.2. */`,
  `Half of it is no less safe (RFC 2104 ${S}5).`,
  `Tokens (RFC 6749 ${S}4.1.3, ${S}6).`,
  `RFC 6749 ${S}4.1 and ${S}5; then ${S}2.`,
])("%s cites what is there", (text) => {
  expect(danglingIn(text, RULES)).toEqual([]);
});

test.each([
  [`as ${S}2.2 says`, `${S}2.2`],
  [`as ${S}2.10 says`, `${S}2.10`],
  [`as ${S}10 says, no page of rules`, `${S}10`],
  [`in the ${S} on tokens`, S],
  [`RFC 2104 says; ${S}5 does too`, `${S}5`],
])("%s cites what is not there", (text, citation) => {
  expect(danglingIn(`first\n${text}\nlast`, RULES)).toEqual([{ line: 2, citation }]);
});

test("rules are the numbered headings of a page, each once", () => {
  const page = `# ${S}3 Invitations\n\n### ${S}3.2 States\n\nas ${S}3.9 says\n\n#### ${S}3.2 Again\n## ${S}4\n`;
  expect(rulesOf(page)).toEqual(["3", "3.2", "3.2"]);
  expect(repeated(rulesOf(page))).toEqual(["3.2"]);
});

test("every citation in this repository resolves", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, "check-citations.ts")], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});
