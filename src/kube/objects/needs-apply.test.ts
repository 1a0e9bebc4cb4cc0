import fc from "fast-check";
import { expect, test } from "vitest";
import { needsApply } from "./needs-apply.ts";

const READY = { type: "Ready", status: "True", reason: "Done", message: "", observedGeneration: 1 };
const STORED = {
  metadata: { name: "a", uid: "u", labels: { app: "x", other: "y" }, finalizers: ["ours", "theirs"] },
  spec: { replicas: 3, template: { containers: [{ name: "c", image: "i", pullPolicy: "Always" }] }, args: ["a", "b"] },
  status: { conditions: [{ type: "Theirs", status: "False" }, READY] },
};

test.each([
  { name: "nothing stored", current: undefined, desired: {}, needs: true },
  { name: "nothing desired", current: STORED, desired: {}, needs: false },
  {
    name: "our label is there among others",
    current: STORED,
    desired: { metadata: { labels: { app: "x" } } },
    needs: false,
  },
  {
    name: "our label has another value",
    current: STORED,
    desired: { metadata: { labels: { app: "z" } } },
    needs: true,
  },
  { name: "our label is missing", current: STORED, desired: { metadata: { labels: { mine: "x" } } }, needs: true },
  { name: "a number as text", current: STORED, desired: { spec: { replicas: "3" } }, needs: true },
  { name: "our condition among others", current: STORED, desired: { status: { conditions: [READY] } }, needs: false },
  {
    name: "our condition with another reason",
    current: STORED,
    desired: { status: { conditions: [{ ...READY, reason: "Other" }] } },
    needs: true,
  },
  {
    name: "a condition not there",
    current: STORED,
    desired: { status: { conditions: [{ type: "New" }] } },
    needs: true,
  },
  {
    name: "a container with a field defaulted by the server",
    current: STORED,
    desired: { spec: { template: { containers: [{ name: "c", image: "i" }] } } },
    needs: false,
  },
  { name: "a plain list in another order", current: STORED, desired: { spec: { args: ["b", "a"] } }, needs: true },
  { name: "a plain list cut short", current: STORED, desired: { spec: { args: ["a"] } }, needs: true },
  {
    name: "our finalizer among others",
    current: STORED,
    desired: { metadata: { finalizers: ["ours"] } },
    needs: false,
  },
  { name: "a finalizer not there", current: STORED, desired: { metadata: { finalizers: ["new"] } }, needs: true },
  { name: "a field left undefined", current: STORED, desired: { spec: { paused: undefined } }, needs: false },
  { name: "an object where a value is", current: STORED, desired: { spec: { replicas: {} } }, needs: true },
  { name: "a list where an object is", current: STORED, desired: { spec: [] }, needs: true },
])("$name: apply $needs", ({ current, desired, needs }) => {
  expect(needsApply(current, desired)).toBe(needs);
});

test("what was applied needs no second apply", () => {
  fc.assert(
    fc.property(fc.object({ values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)] }), (object) => {
      expect(needsApply(structuredClone(object), object)).toBe(false);
    }),
  );
});
