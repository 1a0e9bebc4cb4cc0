import { expect, test } from "vitest";
import type { Change } from "../cache/cache.ts";
import {
  and,
  annotationsChanged,
  everything,
  generationChanged,
  type HasMeta,
  labelsChanged,
  not,
  or,
  type Predicate,
  resourceVersionChanged,
} from "./predicates.ts";

const BEFORE: HasMeta["metadata"] = {
  name: "a",
  resourceVersion: "1",
  generation: 1,
  labels: { app: "x" },
  annotations: { note: "x" },
};

function update(changed: Partial<HasMeta["metadata"]>): Change<HasMeta> {
  return { type: "updated", previous: { metadata: BEFORE }, object: { metadata: { ...BEFORE, ...changed } } };
}

const UPDATES: readonly {
  readonly name: string;
  readonly changed: Partial<HasMeta["metadata"]>;
  readonly passes: readonly Predicate<HasMeta>[];
}[] = [
  { name: "a new generation", changed: { resourceVersion: "2", generation: 2 }, passes: [generationChanged] },
  { name: "a status write", changed: { resourceVersion: "2" }, passes: [] },
  { name: "a new label", changed: { resourceVersion: "2", labels: { app: "y" } }, passes: [labelsChanged] },
  { name: "labels gone", changed: { resourceVersion: "2", labels: undefined }, passes: [labelsChanged] },
  { name: "equal labels in a new object", changed: { resourceVersion: "2", labels: { app: "x" } }, passes: [] },
  { name: "a new annotation", changed: { resourceVersion: "2", annotations: {} }, passes: [annotationsChanged] },
];

test.each(UPDATES)("$name passes the predicates that ask for it, and no other", ({ changed, passes }) => {
  for (const predicate of [generationChanged, labelsChanged, annotationsChanged]) {
    expect(predicate(update(changed))).toBe(passes.includes(predicate));
  }
  expect(resourceVersionChanged(update(changed))).toBe(true);
});

test("a replay of the same version passes none but everything", () => {
  expect(resourceVersionChanged(update({}))).toBe(false);
  expect(everything(update({}))).toBe(true);
});

test("additions and deletions pass all of them", () => {
  const object = { metadata: BEFORE };
  const changes: readonly Change<HasMeta>[] = [
    { type: "added", object, initial: true },
    { type: "deleted", object },
  ];
  for (const change of changes) {
    for (const predicate of [generationChanged, labelsChanged, annotationsChanged, resourceVersionChanged]) {
      expect(predicate(change)).toBe(true);
    }
  }
});

test("and, or, not combine", () => {
  const change = update({ resourceVersion: "2", generation: 2 });
  expect(and(generationChanged, labelsChanged)(change)).toBe(false);
  expect(or(generationChanged, labelsChanged)(change)).toBe(true);
  expect(not(labelsChanged)(change)).toBe(true);
});
