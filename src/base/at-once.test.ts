import { expect, test } from "vitest";
import { atOnce } from "./at-once.ts";
import { settle } from "./testing/settle.ts";

test("so many at once, and the results in their order", async () => {
  let running = 0;
  let most = 0;
  const work = async (item: number): Promise<number> => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn <= 5 - item; turn += 1) await settle();
    running -= 1;
    return item * 2;
  };
  expect(await atOnce([1, 2, 3, 4, 5], 2, work)).toEqual([2, 4, 6, 8, 10]);
  expect(most).toBe(2);
  expect(await atOnce([], 2, work)).toEqual([]);
});

test("after an error none begins, and it is thrown when none runs any more", async () => {
  const begun: number[] = [];
  let hasEnded = false;
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    if (item === 1) throw new Error("first");
    await settle();
    hasEnded = true;
  };
  await expect(atOnce([1, 2, 3, 4], 2, work)).rejects.toThrow("first");
  expect(begun).toEqual([1, 2]);
  expect(hasEnded).toBe(true);
});
