import fc from "fast-check";
import { expect, test } from "vitest";
import { AUDIT_TYPES, chainLine, chainStart, intactPart, verifyAudit } from "./audit-chain.ts";

const AT = new Date("2026-01-01T12:00:00Z");
const SPEC = { mode: "exec", namespace: "shop", reason: "500s since 14:02" };

const field = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
const file = fc.array(fc.tuple(fc.constantFrom(...AUDIT_TYPES), field), { maxLength: 8 }).map((records) => {
  const all = [["open", { uid: "u-1", spec: SPEC }] as const, ...records, ["close", { reason: "client" }] as const];
  let end = chainStart("u-1", SPEC);
  return all.map(([type, fields]) => {
    const next = chainLine(end, AT, type, type === "open" && end.records > 0 ? { again: true } : fields);
    end = next.end;
    return next.line;
  });
});
const textOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""));
const problems = (lines: readonly string[], head?: string) => verifyAudit(textOf(lines), head).problems;

test("property: what was written is whole, with its head and without", () => {
  fc.assert(
    fc.property(file, (lines) => {
      const report = verifyAudit(textOf(lines));
      expect(report).toMatchObject({ records: lines.length, isClosed: true, problems: [] });
      expect(problems(lines, report.head)).toEqual([]);
    }),
  );
});

test("property: every edit of a byte is found", () => {
  fc.assert(
    fc.property(file, fc.nat(), fc.integer({ min: 1, max: 255 }), (lines, at, change) => {
      const text = textOf(lines);
      const { head } = verifyAudit(text);
      text[at % text.length] = (text[at % text.length] ?? 0) ^ change;
      expect(verifyAudit(text, head).problems).not.toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("property: every line that is taken out, doubled or moved is found, the last one too", () => {
  fc.assert(
    fc.property(file, fc.nat(), fc.nat(), (lines, one, other) => {
      const { head } = verifyAudit(textOf(lines));
      const [a, b] = [one % lines.length, other % lines.length];
      expect(problems(lines.toSpliced(a, 1), head)).not.toEqual([]);
      expect(problems(lines.toSpliced(a, 0, lines[a] ?? ""), head)).not.toEqual([]);
      expect(problems(lines.slice(0, a), head)).not.toEqual([]);
      // Without a head the missing end alone tells.
      if (lines[a - 1]?.includes('"type":"close"') !== true) expect(problems(lines.slice(0, a))).not.toEqual([]);
      if (a !== b) {
        const moved = lines.toSpliced(a, 1).toSpliced(b, 0, lines[a] ?? "");
        expect(problems(moved, head)).not.toEqual([]);
      }
    }),
  );
});

test("property: a file that was torn anywhere goes on from its last whole line", () => {
  fc.assert(
    fc.property(file, fc.nat(), (lines, at) => {
      const text = textOf(lines);
      const torn = text.subarray(0, at % text.length);
      const { end, bytes } = intactPart(torn);
      expect(torn.subarray(bytes).includes(10)).toBe(false);
      const next = chainLine(end ?? chainStart("u-1", SPEC), AT, end ? "close" : "open", { uid: "u-1", spec: SPEC });
      const mended = Buffer.concat([torn.subarray(0, bytes), Buffer.from(`${next.line}\n`)]);
      expect(verifyAudit(mended, next.end.head).problems).toEqual([]);
    }),
  );
});

test("a chain belongs to one session and to what was asked for", () => {
  const first = chainLine(chainStart("u-1", SPEC), AT, "open", { uid: "u-1", spec: { ...SPEC, mode: "read" } });
  expect(problems([first.line])).toContainEqual({ line: 1, words: expect.stringContaining("does not follow") });
});

test("property: garbage is reported, never thrown", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(verifyAudit(Buffer.from(bytes)).problems).not.toEqual([]);
    }),
  );
});

test("records that the cluster knew of, before a tunnel went on, must be in the file", () => {
  const first = chainLine(chainStart("u-1", SPEC), AT, "open", { uid: "u-1", spec: SPEC });
  const second = chainLine(first.end, AT, "request", { id: 1 });
  const close = (end: typeof first.end, before: object) => {
    const again = chainLine(end, AT, "open", { uid: "u-1", spec: SPEC, before });
    return [again.line, chainLine(again.end, AT, "close", { reason: "client" }).line];
  };
  expect(problems([first.line, second.line, ...close(second.end, second.end)])).toEqual([]);
  // The tunnel wrote more than the cluster knew of.
  expect(problems([first.line, second.line, ...close(second.end, first.end)])).toEqual([]);
  const words = "2 records before this are missing or changed";
  expect(problems([first.line, ...close(first.end, second.end)])).toEqual([{ line: 2, words }]);
  expect(problems(close(chainStart("u-1", SPEC), second.end))).toEqual([{ line: 1, words }]);
});

test("bytes that are no UTF-8 are not taken for the replacement character", () => {
  const first = chainLine(chainStart("u-1", SPEC), AT, "open", { uid: "u-1", spec: SPEC });
  const lines = [first.line, chainLine(first.end, AT, "close", { reason: "\ufffd" }).line];
  const text = textOf(lines);
  const at = text.indexOf(Buffer.from("\ufffd"));
  const changed = Buffer.concat([text.subarray(0, at), Buffer.from([0xff]), text.subarray(at + 3)]);
  expect(problems(lines)).toEqual([]);
  expect(verifyAudit(changed).problems).not.toEqual([]);
  expect(intactPart(changed).end?.records).toBe(1);
});
