import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { RuntimeKey } from "./runtime-key.ts";

let folder: string;
let clock: FakeClock;
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runtime-key-"));
  clock = new FakeClock();
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

/** As kubelet does it: a new folder, and one atomic rename of the link `..data`. */
let generation = 0;
function mount(key: string): void {
  const next = `..${generation++}`;
  mkdirSync(join(folder, next));
  writeFileSync(join(folder, next, "key"), `${key}\n`);
  symlinkSync(next, join(folder, "..new"));
  renameSync(join(folder, "..new"), join(folder, "..data"));
  if (generation === 1 || !told.length) rmSync(join(folder, "key"), { force: true });
  try {
    symlinkSync(join("..data", "key"), join(folder, "key"));
  } catch {
    // Made by the first mount.
  }
}

function runtimeKey(): RuntimeKey {
  const reloaded = (result: string, detail: string): void => void told.push(`${result}: ${detail}`);
  return new RuntimeKey({ file: join(folder, "key"), overlapMs: 600_000, clock, reloaded });
}

test("a new key in the mounted folder is used within a second, without a restart", () => {
  mount("first-key");
  const key = runtimeKey();
  expect(key.current()).toBe("first-key");
  mount("second-key");
  clock.advance(1_000);
  expect(key.current()).toBe("second-key");
  expect(told).toEqual(["changed: first read", "changed: rotated"]);
});

test("a refused key is read again at once", () => {
  mount("first-key");
  const key = runtimeKey();
  key.current();
  mount("second-key");
  expect(key.refused("first-key")).toBe(true);
  expect(key.current()).toBe("second-key");
});

test("the old key is tried while the platform does not know the new one, and the new one again after a rest", () => {
  mount("first-key");
  const key = runtimeKey();
  key.current();
  mount("second-key");
  clock.advance(1_000);
  expect(key.current()).toBe("second-key");
  expect(key.refused("second-key")).toBe(true);
  expect(key.current()).toBe("first-key");
  clock.advance(30_000);
  expect(key.current()).toBe("second-key");
});

test("the old key is not tried after the overlap", () => {
  mount("first-key");
  const key = runtimeKey();
  key.current();
  mount("second-key");
  clock.advance(1_000);
  key.current();
  clock.advance(600_000);
  expect(key.refused("second-key")).toBe(false);
  expect(key.current()).toBe("second-key");
});

test("when every key is refused there is nothing else to try", () => {
  mount("first-key");
  const key = runtimeKey();
  expect(key.refused(key.current())).toBe(false);
  expect(key.current()).toBe("first-key");
});

test("a file that goes away, is empty or is huge leaves the key that worked", () => {
  mount("first-key");
  const key = runtimeKey();
  key.current();
  for (const content of ["", "two words", "x".repeat(10_000)]) {
    mount(content);
    clock.advance(1_000);
    expect(key.current()).toBe("first-key");
  }
  rmSync(join(folder, "..data"));
  clock.advance(1_000);
  expect(key.current()).toBe("first-key");
  expect(told.slice(1)).toEqual([
    "failed: the file does not hold one key",
    "failed: the file is larger than 4096 bytes",
    "failed: ENOENT",
  ]);
});

test("a missing file at the start is an error that names no path and no key, and heals", () => {
  const key = runtimeKey();
  expect(() => key.current()).toThrow("no runtime key could be read yet");
  mount("first-key");
  clock.advance(1_000);
  expect(key.current()).toBe("first-key");
});
