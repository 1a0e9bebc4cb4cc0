import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../base/testing/fake-clock.ts";
import { Lane } from "../call/lane.ts";
import { Waker } from "./waker.ts";

describe("the waker", () => {
  const never = new AbortController().signal;

  it("wakes the sleepers of one manager and no other, and holds nothing after", async () => {
    const waker = new Waker(new FakeClock());
    const woken: string[] = [];
    const sleeps = ["a", "a", "b"].map((id) => waker.sleep(id, 1000, never).then(() => woken.push(id)));
    waker.wake("a");
    await Promise.all(sleeps.slice(0, 2));
    expect(woken).toEqual(["a", "a"]);
    expect(waker.sleeping).toBe(1);
    waker.wake("b");
    await Promise.all(sleeps);
    expect(waker.sleeping).toBe(0);
  });

  it("an subscription remembers a wake that came while nobody waited, once", async () => {
    const clock = new FakeClock();
    const waker = new Waker(clock);
    const subscription = waker.subscribe("a");
    waker.wake("a");
    waker.wake("a");
    expect(await subscription.next(1000, never)).toBe(true);
    const second = subscription.next(1000, never);
    clock.advance(1000);
    expect(await second).toBe(false);
    subscription[Symbol.dispose]();
    expect([waker.sleeping, clock.pending]).toEqual([0, 0]);
  });

  it("a sleep ends by its time, by its signal, and at once when that has aborted", async () => {
    const clock = new FakeClock();
    const waker = new Waker(clock);
    const timed = waker.sleep("a", 1000, never);
    clock.advance(1000);
    await timed;
    const abort = new AbortController();
    const aborted = waker.sleep("a", 1000, abort.signal);
    abort.abort();
    await aborted;
    await waker.sleep("a", 1000, abort.signal);
    expect([waker.sleeping, clock.pending]).toEqual([0, 0]);
  });
});

it("a lane runs one at a time a key, in order, also after a failure, and forgets idle keys", async () => {
  const lane = new Lane();
  const order: number[] = [];
  const step = (n: number) => async (): Promise<void> => {
    order.push(n);
    await Promise.resolve();
    order.push(n);
    if (n === 1) throw new Error("one fails");
  };
  const runs = [1, 2, 3].map((n) => lane.run("a", step(n)));
  const results = await Promise.allSettled([...runs, lane.run("b", async () => undefined)]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled", "fulfilled"]);
  expect(order).toEqual([1, 1, 2, 2, 3, 3]);
  expect(lane.size).toBe(0);
});
