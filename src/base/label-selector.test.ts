import { expect, test } from "vitest";
import { isLabelSelector } from "./label-selector.ts";
import { cpuMs } from "./testing/cpu-time.ts";

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
  " ! a , b  =  c , d == , e  notin  ( x , , y )  , f ",
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
  const startedMs = cpuMs();
  expect(isLabelSelector(`a in (${"a,".repeat(500)}`)).toBe(false);
  expect(isLabelSelector(`${" ".repeat(1_000)}!`)).toBe(false);
  expect(cpuMs() - startedMs).toBeLessThan(1_000);
});

test.each([
  `a in (${",      ".repeat(34)}!`,
  `a in (${",      ".repeat(140)}!`,
  `${"a=      ,".repeat(28)}-`,
  `${"a      ,".repeat(30)}-`,
  `${"!a      ,".repeat(28)}-`,
  `${"a in (b)      ,".repeat(16)}-`,
  `${"a in (b)      ,".repeat(60)}-`,
  `a=${" ".repeat(1_000)}-`,
  `a in (${" ".repeat(1_000)}-`,
])("spaces between commas can be read in one way only: %j", (text) => {
  const startedMs = cpuMs();
  expect(isLabelSelector(text)).toBe(false);
  expect(cpuMs() - startedMs).toBeLessThan(1_000);
});
