import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../base/testing/runs.ts";
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
    { numRuns: runs(500) },
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

interface Change {
  readonly name: string;
  readonly to: (lines: readonly string[], text: Buffer) => Buffer;
}
const change = (name: string, to: Change["to"]): Change => ({ name, to });
/** What a person with the file, and with the tunnel's code, could do to it. */
const changes: fc.Arbitrary<Change> = fc
  .record({ a: fc.nat(), b: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }), word: fc.string() })
  .chain(({ a, b, bytes, word }) => {
    const range = (length: number): [number, number] => {
      const [one, other] = [a % (length + 1), b % (length + 1)];
      return [Math.min(one, other), Math.max(one, other)];
    };
    return fc.constantFrom(
      change("cut out bytes", (_, text) => {
        const [from, to] = range(text.length);
        return Buffer.concat([text.subarray(0, from), text.subarray(to)]);
      }),
      change("put in bytes", (_, text) => {
        const at = a % (text.length + 1);
        return Buffer.concat([text.subarray(0, at), bytes, text.subarray(at)]);
      }),
      change("swap lines", (lines) => {
        const [one, other] = [a % lines.length, b % lines.length];
        return textOf(lines.map((line, at) => (at === one ? lines[other] : at === other ? lines[one] : line) ?? ""));
      }),
      change("cut lines out", (lines) => {
        const [from, to] = range(lines.length);
        return textOf([...lines.slice(0, from), ...lines.slice(to)]);
      }),
      change("repeat lines", (lines) => {
        const [from, to] = range(lines.length);
        return textOf([...lines.slice(0, to), ...lines.slice(from)]);
      }),
      change("turn lines round", (lines) => textOf([...lines].reverse())),
      change("write a field anew and all that follows", (lines) => {
        const first = a % lines.length;
        return textOf(chainedAnew(lines, (record, at) => (at === first ? { ...record, word } : record)));
      }),
      change("leave a record out and write all that follows anew", (lines) => {
        const gone = a % lines.length;
        return textOf(chainedAnew(lines, (record, at) => (at === gone ? undefined : record)));
      }),
      change("end it earlier", (lines) => {
        const end = { type: "close", reason: word };
        return textOf(
          chainedAnew(lines.slice(0, 1 + (a % lines.length)), (record, at, all) => (at === all - 1 ? end : record)),
        );
      }),
      change("begin with another file", (lines) => {
        const other = chainLine(chainStart("u-2", SPEC), AT, "open", { uid: "u-2", spec: SPEC });
        return textOf([other.line, ...lines.slice(1)]);
      }),
    );
  });
type Fields = Readonly<Record<string, unknown>>;

/** The file as it would be if these had been its records. */
function chainedAnew(
  lines: readonly string[],
  to: (record: Fields, at: number, all: number) => Fields | undefined,
): readonly string[] {
  let end = chainStart("u-1", SPEC);
  return lines.flatMap((line, at) => {
    const record = to(JSON.parse(line) as Fields, at, lines.length);
    if (record === undefined) return [];
    const next = chainLine(end, AT, record.type as (typeof AUDIT_TYPES)[number], record);
    end = next.end;
    return [next.line];
  });
}

test("property: with the head, no other file than the one that was written is whole", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(file, changes, (lines, { name, to }) => {
      const text = textOf(lines);
      const { head } = verifyAudit(text);
      const changed = to(lines, text);
      const { problems: found, beyond } = verifyAudit(changed, head);
      expect(found.length === 0 && beyond === 0, name).toBe(changed.equals(text));
      if (!changed.equals(text)) seen.add(name);
    }),
    { numRuns: runs(1_000) },
  );
  expect(seen.size).toBe(10);
});

test("property: a file that goes on after the record that was told is whole, and longer", () => {
  fc.assert(
    fc.property(file, fc.nat(), (lines, at) => {
      const told = lines.slice(0, 1 + (at % lines.length));
      const { head } = verifyAudit(textOf(told));
      const report = verifyAudit(textOf(lines), head);
      expect(report).toMatchObject({ problems: [], beyond: lines.length - told.length });
      const end = { records: told.length, head };
      expect(intactPart(textOf(lines), end).holds).toBe(true);
      expect(intactPart(textOf(lines), { ...end, records: told.length + 1 }).holds).toBe(false);
      expect(intactPart(textOf(told.slice(0, -1)), end).holds).toBe(false);
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
