import { expect, test } from "vitest";
import { type Limited, ObjectLimit } from "./object-limit.ts";

class FakeCache implements Limited {
  size: number;

  constructor(size: number) {
    this.size = size;
  }

  giveWay(): void {
    this.size = 0;
  }
}

test("beyond the limit the largest gives way, and the others stay; at the limit none does", () => {
  const limit = new ObjectLimit(10);
  const caches = [new FakeCache(3), new FakeCache(5), new FakeCache(2)];
  for (const cache of caches) limit.join(cache);
  limit.check();
  expect(caches.map(({ size }) => size)).toEqual([3, 5, 2]);
  const [first] = caches;
  if (first !== undefined) first.size = 4;
  limit.check();
  expect(caches.map(({ size }) => size)).toEqual([4, 0, 2]);
  limit.check();
  expect(caches.map(({ size }) => size)).toEqual([4, 0, 2]);
});
