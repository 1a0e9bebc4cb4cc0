import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { settle } from "../../base/testing/settle.ts";
import { FakeInformer } from "../testing/fake-informer.ts";
import type { HasMeta } from "./predicates.ts";
import { generationChanged } from "./predicates.ts";
import { notifiedBy, owns, periodic, type Source, triggered, watches } from "./sources.ts";

function started(source: Source): { readonly keys: string[]; readonly stop: () => void } {
  const keys: string[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  source.start((key, afterMs) => keys.push(afterMs === undefined ? key : `${key} in ${afterMs} ms`), stop.signal);
  return { keys, stop: () => stop.abort() };
}

function thing(name: string, more: Partial<HasMeta["metadata"]> = {}): HasMeta {
  return { metadata: { name, namespace: "ns", resourceVersion: "1", ...more } };
}

function ownedBy(name: string, more: object = {}): Pick<HasMeta["metadata"], "ownerReferences"> {
  return { ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name, controller: true, ...more }] };
}

test("what is stored before the start and what changes after it are enqueued, until the stop", () => {
  const informer = new FakeInformer<HasMeta>();
  informer.set(thing("before"));
  const { keys, stop } = started(watches(informer));
  informer.set(thing("after"));
  informer.delete("ns/before");
  expect(keys).toEqual(["ns/before", "ns/after", "ns/before"]);
  stop();
  informer.set(thing("late"));
  expect(keys).toHaveLength(3);
  expect(informer.listeners).toBe(0);
});

test("a source started after the abort listens to nothing", () => {
  const informer = new FakeInformer<HasMeta>();
  watches(informer).start(() => expect.unreachable(), AbortSignal.abort());
  expect(informer.listeners).toBe(0);
});

test("the predicate keeps changes away from the map", () => {
  const informer = new FakeInformer<HasMeta>();
  const { keys } = started(watches(informer, ({ metadata }) => [`mapped/${metadata.name}`], generationChanged));
  informer.set(thing("a", { generation: 1 }));
  informer.set(thing("a", { generation: 1, resourceVersion: "2" }));
  expect(keys).toEqual(["mapped/a"]);
});

test("an object that changes hands wakes its old and its new owner", () => {
  const informer = new FakeInformer<HasMeta>();
  const { keys } = started(owns(informer, { group: "apps", kind: "ReplicaSet" }));
  informer.set(thing("pod", ownedBy("old")));
  informer.set(thing("pod", ownedBy("new")));
  expect(keys).toEqual(["ns/old", "ns/old", "ns/new"]);
});

test("an update enqueues a key once, though the old and the new object both give it", () => {
  const informer = new FakeInformer<HasMeta>();
  const { keys } = started(watches(informer));
  informer.set(thing("a"));
  keys.length = 0;
  informer.set(thing("a", { resourceVersion: "2" }));
  expect(keys).toEqual(["ns/a"]);
});

test.each([
  { name: "another version of the owner's kind", more: { apiVersion: "apps/v1beta1" }, keys: ["ns/o"] },
  { name: "another group", more: { apiVersion: "extensions/v1" }, keys: [] },
  { name: "the core group", more: { apiVersion: "v1" }, keys: [] },
  { name: "another kind", more: { kind: "Job" }, keys: [] },
  { name: "an owner that is not the controller", more: { controller: false }, keys: [] },
])("an object of $name enqueues $keys", ({ more, keys: expected }) => {
  const informer = new FakeInformer<HasMeta>();
  const { keys } = started(owns(informer, { group: "apps", kind: "ReplicaSet" }));
  informer.set(thing("pod", ownedBy("o", more)));
  informer.set(thing("orphan"));
  expect(keys).toEqual(expected);
});

test("a cluster-scoped owner is named without the child's namespace", () => {
  const informer = new FakeInformer<HasMeta>();
  const { keys } = started(owns(informer, { group: "apps", kind: "ReplicaSet", namespaced: false }));
  informer.set(thing("pod", ownedBy("o")));
  expect(keys).toEqual(["o"]);
});

test("a trigger reaches each controller that has started the source and not stopped", () => {
  const source = triggered("message");
  const first = started(source);
  const second = started(source);
  source.trigger("a", 50);
  first.stop();
  source.trigger("b");
  expect(first.keys).toEqual(["a in 50 ms"]);
  expect(second.keys).toEqual(["a in 50 ms", "b"]);
});

test("what is triggered while no controller runs is kept for the next one, once a key", () => {
  const source = triggered("message", ["all"]);
  source.trigger("a");
  source.trigger("a");
  const first = started(source);
  first.stop();
  source.trigger("b");
  expect(first.keys).toEqual(["all", "a"]);
  expect(started(source).keys).toEqual(["b"]);
});

test("a notifier's change reconciles the keys of that moment, until the controller stops", () => {
  const listeners: (() => void)[] = [];
  const notifier = {
    name: "rights",
    onChange: (each: () => void) => void listeners.push(each),
    whenSynced: async () => undefined,
  };
  let keys: readonly string[] = ["a"];
  const run = started(notifiedBy(notifier, () => keys));
  keys = ["b", "c"];
  for (const tell of listeners) tell();
  run.stop();
  for (const tell of listeners) tell();
  expect(run.keys).toEqual(["b", "c"]);
});

test("a period is varied by a tenth, and the keys are asked for each time", async () => {
  const clock = new FakeClock();
  const draws = [0, 1];
  let keys: readonly string[] = ["a"];
  const source = periodic(1000, () => keys, { clock, random: () => draws.shift() ?? 0.5 });
  const run = started(source);
  clock.advance(899);
  await settle();
  expect(run.keys).toEqual([]);
  clock.advance(1);
  await settle();
  keys = ["b", "c"];
  clock.advance(1099);
  await settle();
  expect(run.keys).toEqual(["a"]);
  clock.advance(1);
  await settle();
  expect(run.keys).toEqual(["a", "b", "c"]);
  run.stop();
  expect(clock.pending).toBe(0);
});
