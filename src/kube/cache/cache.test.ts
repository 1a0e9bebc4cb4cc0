import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { Cache } from "./cache.ts";
import type { Cached } from "./store.ts";

const object = (namespace: string, name: string): Cached => ({ metadata: { namespace, name, resourceVersion: "1" } });

test("what is not to be kept is in no list, reaches no listener, and its deletion neither", async () => {
  const keep = ({ metadata }: Cached): boolean => metadata.namespace === "shop";
  const cache = new Cache<Cached>({ indexes: {}, clock: new FakeClock(), log: silentLogger, freeze: false, keep });
  const heard: string[] = [];
  cache.onChange(({ type, object: { metadata } }) => void heard.push(`${type} ${metadata.namespace}/${metadata.name}`));
  const draft = cache.draft();
  for (const namespace of ["shop", "bank"]) draft.apply("ADDED", object(namespace, "a"));
  await cache.adopt(draft, new AbortController().signal);
  for (const namespace of ["shop", "bank"]) cache.apply("ADDED", object(namespace, "b"));
  for (const namespace of ["shop", "bank"]) cache.apply("DELETED", object(namespace, "b"));
  expect(heard).toEqual(["added shop/a", "added shop/b", "deleted shop/b"]);
  expect(cache.store.list().map(({ metadata }) => metadata.namespace)).toEqual(["shop"]);
});
