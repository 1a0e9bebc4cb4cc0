import fc from "fast-check";
import { expect, test } from "vitest";
import type { InventoryParts } from "../../database/tables/machines.ts";
import { isWhole, partsAfter } from "./parts.ts";

const AT = "2100-01-01T00:00:00.000Z";
const LATER = "2100-01-01T00:01:00.000Z";
const part = (index: number, of: number, id = "list-1", observedAt = AT) => ({
  ...{ part: { index, of, id }, complete: true, observedAt },
});

test("a report that is no part is whole when it says so", () => {
  for (const complete of [true, false]) {
    const report = { complete, observedAt: AT };
    expect(partsAfter(null, report)).toBeUndefined();
    expect(isWhole(report, undefined)).toBe(complete);
  }
});

test("a part that is not complete counts for no list", () => {
  const report = { ...part(0, 1), complete: false };
  expect(partsAfter(null, report)).toBeUndefined();
  expect(isWhole(report, undefined)).toBe(false);
});

test.each([
  ["another id", part(1, 2, "list-2")],
  ["another time", part(1, 2, "list-1", LATER)],
  ["another number of parts", part(1, 3)],
])("a part of a list with %s begins anew", (_, report) => {
  const first = partsAfter(null, part(0, 2)) as InventoryParts;
  const next = partsAfter(first, report);
  expect(next?.seen).toEqual([1]);
  expect(isWhole(report, next)).toBe(false);
});

test("property: a list is whole exactly when each of its parts has arrived, in whatever order and however often", () => {
  const told = fc
    .integer({ min: 1, max: 20 })
    .chain((of) => fc.tuple(fc.constant(of), fc.array(fc.nat({ max: of - 1 }), { minLength: 1, maxLength: 60 })));
  fc.assert(
    fc.property(told, ([of, indexes]) => {
      let parts: InventoryParts | undefined;
      const arrived = new Set<number>();
      for (const index of indexes) {
        arrived.add(index);
        parts = partsAfter(parts ?? null, part(index, of));
        expect(isWhole(part(index, of), parts)).toBe(arrived.size === of);
        expect(parts?.seen.length).toBeLessThanOrEqual(of);
      }
    }),
  );
});
