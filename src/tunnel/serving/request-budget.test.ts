import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { RequestBudget } from "./request-budget.ts";

const many = (budget: RequestBudget, count: number) =>
  Array.from({ length: count }, () => budget.take()).filter((wait) => wait === undefined).length;

test("500 at once, then 50 a second, and never more than 500", () => {
  const clock = new FakeClock();
  const budget = new RequestBudget(clock);
  expect(many(budget, 600)).toBe(500);
  expect(budget.take()).toBe(1);
  clock.advance(1_000);
  expect(many(budget, 600)).toBe(50);
  clock.advance(3_600_000);
  expect(many(budget, 600)).toBe(500);
});

test("what was refused is told once", () => {
  const budget = new RequestBudget(new FakeClock());
  expect(budget.takeRefused()).toBe(0);
  many(budget, 503);
  expect([budget.takeRefused(), budget.takeRefused()]).toEqual([3, 0]);
});
