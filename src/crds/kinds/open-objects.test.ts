import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { isOpen } from "./open-cap.ts";
import { OpenObjects } from "./open-objects.ts";

const object = fc.record({
  name: fc.constantFrom(..."abcdefghij"),
  second: fc.integer({ min: 0, max: 3 }),
  deploymentId: fc.constantFrom("dep-1", "dep-2"),
  state: fc.constantFrom("Pending", "Running", "Succeeded", undefined),
});
const told = fc.record({ type: fc.constantFrom("added" as const, "updated" as const, "deleted" as const), object });

test("counts are those of a count by hand, whatever was told in whatever order", () => {
  fc.assert(
    fc.property(fc.array(told, { maxLength: 60 }), (changes) => {
      const open = new OpenObjects();
      const byName = new Map<string, ReturnType<typeof shaped>>();
      for (const { type, object } of changes) {
        const each = shaped(object);
        open.changed({ type, object: each });
        if (type === "deleted") byName.delete(each.metadata.name);
        else byName.set(each.metadata.name, each);
      }
      const all = [...byName.values()].filter(isOpen);
      const ofOne = (id: string) => all.filter(({ spec }) => spec.deploymentId === id);
      const before = (than: ReturnType<typeof shaped>) => (each: typeof than) => place(each) < place(than);
      for (const id of ["dep-1", "dep-2", "dep-3"])
        expect(open.counts(id)).toEqual({ ofDeployment: ofOne(id).length, inAll: all.length });
      for (const each of byName.values()) {
        const same = ofOne(each.spec.deploymentId).filter(before(each));
        expect(open.countsBefore(each)).toEqual({
          ofDeployment: same.length,
          inAll: all.filter(before(each)).length,
        });
      }
    }),
    { numRuns: runs(300) },
  );
});

function shaped({
  name,
  second,
  deploymentId,
  state,
}: {
  name: string;
  second: number;
  deploymentId: string;
  state?: string | undefined;
}) {
  const metadata = { name, creationTimestamp: `2026-01-01T00:00:0${second}Z` };
  return { metadata, spec: { deploymentId }, ...(state !== undefined && { status: { state } }) };
}

function place({ metadata }: ReturnType<typeof shaped>): string {
  return metadata.creationTimestamp + metadata.name;
}
