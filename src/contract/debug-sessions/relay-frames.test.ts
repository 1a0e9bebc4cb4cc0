import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { CLOSE_REASONS } from "./debug-sessions.ts";
import { readRelayFrame, readSideFrame } from "./relay-frames.ts";

const epoch = fc.integer({ min: 1, max: 2 ** 31 });
const close = fc.record({ type: fc.constant("close"), reason: fc.constantFrom(...CLOSE_REASONS) });
const at = fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true });
const ofRelay = fc.oneof(
  fc.record({ type: fc.constant("peer"), epoch }),
  fc.record({ type: fc.constant("gone") }),
  at.map((date) => ({ type: "until", at: date.toISOString() })),
  close,
);
const ofSide = fc.oneof(fc.record({ type: fc.constant("ready"), epoch }), close);
const readers = [readRelayFrame, readSideFrame] as const;

test("property: a frame is read as it was said, and by no other end than its reader", () => {
  fc.assert(
    fc.property(fc.oneof(ofRelay, ofSide), (frame) => {
      const text = JSON.stringify(frame);
      const isClose = frame.type === "close";
      const isSides = frame.type === "ready";
      expect(readRelayFrame(text)).toEqual(isSides ? undefined : frame);
      expect(readSideFrame(text)).toEqual(isClose || isSides ? frame : undefined);
    }),
  );
});

test("property: a frame with a field too many, too few or of another kind is none", () => {
  const name = fc.oneof(fc.constantFrom("__proto__", "constructor", "toString", "reason", "epoch", "at"), fc.string());
  fc.assert(
    fc.property(fc.oneof(ofRelay, ofSide), name, fc.jsonValue(), (frame, key, value) => {
      // Written by hand: a literal's `__proto__` would be its prototype, and JSON's is a field.
      const more = `${JSON.stringify(frame).slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}`;
      const isNew = !Object.hasOwn(frame, key);
      for (const read of readers) {
        if (isNew) expect(read(more)).toBeUndefined();
        for (const each of Object.keys(frame)) {
          const { [each]: _, ...fewer } = frame as Record<string, unknown>;
          expect(read(JSON.stringify(fewer))).toBeUndefined();
          expect(read(JSON.stringify({ ...frame, [each]: [value] }))).toBeUndefined();
        }
      }
    }),
  );
});

test("property: no text throws, and what is read has one of the known types", () => {
  const anything = fc.oneof(fc.string(), fc.json({ maxDepth: 2 }));
  fc.assert(
    fc.property(anything, (text) => {
      for (const read of readers) {
        const frame = read(text);
        if (frame !== undefined) expect(["peer", "gone", "until", "close", "ready"]).toContain(frame.type);
      }
    }),
    { numRuns: runs(500) },
  );
});

test.each([
  ["lists in lists", "[".repeat(500)],
  ["objects in objects", '{"a":'.repeat(200)],
  ["a number beyond all", "1e999"],
  ["half a word", "nul"],
  ["half a character", '"\\ud800"'],
  ["an empty object", "{}"],
  ["an empty list", "[]"],
  ["null", "null"],
  ["nothing", ""],
])("no frame is %s", (_, text) => {
  for (const read of readers) expect(read(text)).toBeUndefined();
});

test.each([0, -1, 1.5, 2 ** 31 + 1, 1e21, "1", null])("no epoch is %j", (value) => {
  expect(readRelayFrame(JSON.stringify({ type: "peer", epoch: value }))).toBeUndefined();
  expect(readSideFrame(JSON.stringify({ type: "ready", epoch: value }))).toBeUndefined();
});
