import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { choiceOf, placeOf } from "./row-choice.ts";

const row = fc.record({ rank: fc.nat(4), bytes: fc.integer({ min: 1, max: 50 }), name: fc.string({ maxLength: 6 }) });
const rows = fc
  .uniqueArray(row, { selector: ({ name }) => name, size: "max", maxLength: 200 })
  .map((all) => all.map(({ rank, bytes, name }) => ({ rank, bytes, place: placeOf(name) })));
const room = fc.record({ rows: fc.nat(120), bytes: fc.nat(3_000) });

test("what is chosen is within the room, and as much as fits of the worst", () => {
  fc.assert(
    fc.property(rows, room, (all, most) => {
      const chosen = choiceOf(all, most);
      // The naive twin: one sort, and all before the first that does not fit.
      const expected = new Set<object>();
      let bytes = 0;
      for (const each of all.toSorted((a, b) => a.rank - b.rank || a.place - b.place)) {
        bytes += each.bytes;
        if (expected.size >= most.rows || bytes > most.bytes) break;
        expected.add(each);
      }
      expect(chosen).toEqual(expected);
    }),
    { numRuns: runs(500) },
  );
});

test("the order in which rows were seen does not count", () => {
  fc.assert(
    fc.property(rows, room, (all, most) => {
      expect(choiceOf(all.toReversed(), most)).toEqual(choiceOf(all, most));
    }),
  );
});

test("places of names that differ in one sign lie far apart", () => {
  const places = Array.from({ length: 4_096 }, (_, index) => placeOf(`deployment shop api-${index}`) >>> 20);
  const counts = Map.groupBy(places, (bucket) => bucket);
  expect(Math.max(...[...counts.values()].map(({ length }) => length))).toBeLessThan(12);
});
