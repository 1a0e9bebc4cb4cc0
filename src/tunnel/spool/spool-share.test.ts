import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Spool } from "./spool.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "share-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () =>
  new Spool({ folder, limitBytes: 1_000, metrics: { spooled: () => undefined, setAside: () => undefined } });
const put = (name: string, bytes: number) => writeFileSync(join(folder, name), "x".repeat(bytes));

test("a session takes no more than its share, and what others were promised stays theirs", () => {
  const spool = open();
  const [one, other] = [spool.share(300, ["a"]), spool.share(300, ["b"])];
  one.take(300);
  put("a", 300);
  expect(() => one.take(1)).toThrow("300 bytes");
  other.take(300);
  expect([spool.bytes, one.left, other.left]).toEqual([600, 0, 0]);
});

test("there is room for a session only beside what is promised and what waits", () => {
  const spool = open();
  const share = spool.share(300, ["a"]);
  expect([spool.hasRoom(700), spool.hasRoom(701)]).toEqual([true, false]);
  put("a", 200);
  share.take(200);
  // What it has written is not counted twice.
  expect([spool.hasRoom(700), spool.hasRoom(701)]).toEqual([true, false]);
  share.giveBack(50);
  share.end();
  expect([spool.hasRoom(800), spool.hasRoom(801)]).toEqual([true, false]);
  spool.done("a");
  expect(spool.hasRoom(1_000)).toBe(true);
});

test("files that a session left here before are a part of its share", () => {
  put("a", 250);
  const spool = open();
  expect([spool.hasRoom(1_000), spool.hasRoom(1_000, ["a"])]).toEqual([false, true]);
  const share = spool.share(300, ["a", "gone"]);
  expect(share.left).toBe(50);
  expect(() => share.take(51)).toThrow("300 bytes");
});

test("what was set aside takes room for good", () => {
  put("a", 400);
  const spool = open();
  spool.setAside("a");
  expect([spool.hasRoom(600), spool.hasRoom(601), spool.waiting()]).toEqual([true, false, []]);
  expect(() => spool.take(601)).toThrow("full");
});
