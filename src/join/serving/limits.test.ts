import { expect, test } from "vitest";
import { networkOf } from "../../base/network-of.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { Limits } from "./limits.ts";
import { Waiting } from "./waiting.ts";

const reasonOf = (act: () => unknown): string => {
  try {
    act();
    return "passes";
  } catch (error) {
    return error instanceof Error && "reason" in error ? String(error.reason) : String(error);
  }
};

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:0:1:2:3:4:5", "2001:db8:0:1"],
  ["2001:DB8::5", "2001:db8:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
  ["", ""],
])("%s is counted as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test("an address asks 20 times at once, then 20 times a second, and others are not held up", () => {
  const clock = new FakeClock();
  const limits = new Limits(clock);
  const enter = (address: string) => reasonOf(() => limits.enter(address)());
  expect(Array.from({ length: 21 }, () => enter("192.0.2.1")).filter((each) => each === "passes")).toHaveLength(20);
  expect([enter("192.0.2.1"), enter("192.0.2.2")]).toEqual(["rate", "passes"]);
  clock.advance(50);
  expect([enter("192.0.2.1"), enter("192.0.2.1")]).toEqual(["passes", "rate"]);
});

test("an address has five requests under way; one that leaves twice makes room once", () => {
  const limits = new Limits(new FakeClock());
  const leaves = Array.from({ length: 5 }, () => limits.enter("192.0.2.1"));
  expect(reasonOf(() => limits.enter("192.0.2.1"))).toBe("in-flight");
  leaves[0]?.();
  leaves[0]?.();
  limits.enter("192.0.2.1");
  expect(reasonOf(() => limits.enter("192.0.2.1"))).toBe("in-flight");
});

test("the tenth bad token within ten minutes shuts an address out for ten minutes", () => {
  const clock = new FakeClock();
  const limits = new Limits(clock);
  const isOut = () => reasonOf(() => limits.beforeToken("192.0.2.1"));
  const bad = (times: number) => Array.from({ length: times }, () => limits.badToken("192.0.2.1"));
  bad(9);
  clock.advance(600_000);
  bad(9);
  expect(isOut()).toBe("passes");
  bad(1);
  expect(isOut()).toBe("many-bad-tokens");
  clock.advance(599_999);
  expect(isOut()).toBe("many-bad-tokens");
  clock.advance(1);
  expect(isOut()).toBe("passes");
});

test("the platform is asked about 500 tokens at once, then about 50 a second, from however many addresses", () => {
  const clock = new FakeClock();
  const limits = new Limits(clock);
  let asked = 0;
  const passed = (count: number): number =>
    Array.from({ length: count }, () => {
      asked += 1;
      return reasonOf(() => limits.beforeToken(`10.1.${asked >> 8}.${asked & 255}`));
    }).filter((each) => each === "passes").length;
  expect(passed(600)).toBe(500);
  clock.advance(1_000);
  expect(passed(60)).toBe(50);
});

test("what is remembered of addresses is bounded", () => {
  const clock = new FakeClock();
  const limits = new Limits(clock);
  for (let count = 0; count < 10; count += 1) limits.badToken("192.0.2.1");
  for (let count = 0; count < 10_000; count += 1) limits.badToken(`10.0.${count >> 8}.${count & 255}`);
  expect(reasonOf(() => limits.beforeToken("192.0.2.1"))).toBe("passes");
});

test("500 polls wait with one timer, end after their time, and one join has three of them", async () => {
  const clock = new FakeClock();
  const counts: number[] = [];
  const waiting = new Waiting(clock, (polls) => counts.push(polls));
  const gone = new AbortController();
  const polls = Array.from({ length: 500 }, (_, index) => waiting.wait(`uid-${index >> 1}`, 30_000, gone.signal));
  expect(counts.at(-1)).toBe(500);
  await expect(waiting.wait("other", 30_000, gone.signal)).rejects.toMatchObject({ reason: "waiting-full" });
  for (let second = 0; second < 31; second += 1) clock.advance(1_000);
  await Promise.all(polls);
  expect(counts.at(-1)).toBe(0);
  const three = Array.from({ length: 3 }, () => waiting.wait("uid", 30_000, gone.signal));
  await expect(waiting.wait("uid", 30_000, gone.signal)).rejects.toMatchObject({ reason: "waiting-full" });
  waiting.wake("uid");
  await Promise.all(three);
  const left = waiting.wait("uid", 30_000, gone.signal);
  gone.abort();
  await left;
  const last = waiting.wait("uid", 30_000, new AbortController().signal);
  waiting.close();
  await last;
  expect(counts.at(-1)).toBe(0);
});
