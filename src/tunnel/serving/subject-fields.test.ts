import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
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
      expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThan(9_000);
      expect(found.commandWords).toBe(command.length);
      const other = subjectFields({ ...EXEC, name, container, command: [...command, "x"] });
      expect(other.commandSha256).not.toBe(found.commandSha256);
    }),
    { numRuns: 20 },
  );
});

test("of a long command its beginning is kept", () => {
  const command = ["sh", "-c", "a".repeat(3_000), "b".repeat(3_000), "c"];
  const [, , third, fourth, ...more] = subjectFields({ ...EXEC, command }).command as readonly string[];
  expect([third, more]).toEqual([command[2], []]);
  expect(fourth).toMatch(/^b{100,600}\[cut]$/);
});

test("a refusal names the record of its request, or what was asked for", () => {
  expect(askedFields(EXEC, { id: 7 })).toMatchObject({ id: 7, name: "web-1" });
  expect(askedFields(EXEC, { method: "GET", target: "/x" })).not.toHaveProperty("target");
  expect(askedFields(undefined, { method: "PUT", target: "/x" })).toEqual({ method: "PUT", target: "/x" });
});
