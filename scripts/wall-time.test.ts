import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { wallTimeIn } from "./wall-time.ts";

const ROOT = join(import.meta.dirname, "..");

/** How many lines each of these still has. Numbers only go down, and no file comes in. */
const LEFT: Readonly<Record<string, number>> = {
  "src/base/clock.test.ts": 2,
  "src/platform/areas/work-feed/work-feed.test.ts": 1,
  "test/e2e/machines/machines.test.ts": 1,
  "test/e2e/rules-removed.test.ts": 1,
  "test/faults/story.test.ts": 1,
  "test/integration/agent/key-rotation.test.ts": 3,
  "test/integration/machines/drains.test.ts": 1,
  "test/integration/operator/operator-faults.test.ts": 2,
  "test/integration/platform-away.test.ts": 1,
  "test/integration/proxy/proxy.test.ts": 1,
  "test/integration/rules-removed/rules-removed.test.ts": 1,
  "test/integration/secrets.test.ts": 1,
  "test/platform/sigkill.test.ts": 2,
};

test("no test goes by wall time, apart from those that still do", { timeout: 60_000 }, () => {
  const files = globSync("{src,test,lab,scripts,deploy}/**/*.test.ts", { cwd: ROOT });
  const found = files
    .filter((file) => file !== "scripts/wall-time.test.ts")
    .map((file) => ({ file, lines: wallTimeIn(readFileSync(join(ROOT, file), "utf8")) }));
  const more = found.filter(({ file, lines }) => lines.length > (LEFT[file] ?? 0));
  expect(more.flatMap(({ file, lines }) => lines.map(({ line, reason }) => `${file}:${line}: ${reason}`))).toEqual([]);
  const left = found.flatMap(({ file, lines }) => (lines.length === 0 ? [] : [[file, lines.length] as const]));
  expect(LEFT).toEqual(Object.fromEntries(left));
});

test.each([
  "expect(performance.now() - began).toBeLessThan(1_000);",
  "expect(last).toBeLessThan(Date.now() - 5);",
  "await sleep(systemClock, 300, signal);",
  "await new Promise((resolve) => setTimeout(resolve, 20));",
  'import { setTimeout as delay } from "node:timers/promises";',
  "{ numRuns: 300 },",
  "{ numRuns: 2_000 },",
])("%s is found", (text) => {
  expect(wallTimeIn(`first\n${text}`)).toEqual([{ line: 2, reason: expect.any(String) }]);
});

test.each([
  "expect(cpuMs() - began).toBeLessThan(1_000);",
  "const old = new Date(Date.now() - 60_000);",
  "expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);",
  "await sleep(clock, 300, signal);",
  "const late = setTimeout(give, 1_000);",
  "{ numRuns: runs(300) },",
  "{ numRuns: 20 },",
])("%s is not", (text) => {
  expect(wallTimeIn(text)).toEqual([]);
});
