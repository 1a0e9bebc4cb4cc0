import { expect, test } from "vitest";
import { isLabelSelector } from "./label-selector.ts";

test.each([
  "app=web",
  "app == web",
  "app!=web",
  "app=",
  "sallyport.dev/observed",
  "!internal",
  "tier in (front, back)",
  "tier notin (front),app=web",
  "a.b/c=1,!d, e in (x,,y)",
])("%s selects", (text) => {
  expect(isLabelSelector(text)).toBe(true);
});

test.each([
  "",
  " ",
  "   ",
  ",",
  "=web",
  "app=web,",
  "app in front",
  "app in ()extra",
  "app=web&limit=1",
  "app=web\nx",
  "app>1",
  "-app=web",
  `${"a".repeat(64)}=1`,
  `${"a=1,".repeat(40)}b=1`,
  "a".repeat(2_000),
])("%j does not", (text) => {
  expect(isLabelSelector(text)).toBe(false);
});

test("a long text that is none is refused in no time", () => {
  const startedMs = performance.now();
  expect(isLabelSelector(`a in (${"a,".repeat(500)}`)).toBe(false);
  expect(isLabelSelector(`${" ".repeat(1_000)}!`)).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});
