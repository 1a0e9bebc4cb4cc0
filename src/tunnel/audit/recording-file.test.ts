import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { Spool } from "../spool/spool.ts";
import { RecordingFile } from "./recording-file.ts";

const NAME = "dbg_1.recording.cast";
let folder: string;
let clock: FakeClock;
let failures: unknown[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "recording-"));
  clock = new FakeClock("2026-01-01T00:00:00Z");
  failures = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const spoolOf = (limitBytes = 100_000_000) =>
  new Spool({ folder, limitBytes, metrics: { spooled: () => undefined, setAside: () => undefined } });
const open = (spool = spoolOf()) => RecordingFile.open(NAME, { spool, clock }, (error) => failures.push(error));
const file = () => readFileSync(join(folder, NAME));
/** Of the file as it is. */
const word = () => ({ bytes: file().length, sha256: createHash("sha256").update(file()).digest("hex") });
const lines = () =>
  file()
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

test("a recording has one first line, and the time since then", async () => {
  const recording = await open();
  clock.advance(5_000);
  recording.event("o", "a");
  clock.advance(1_500);
  recording.event("m", "b");
  expect(await recording.close()).toEqual(word());
  expect(lines()).toEqual([
    { version: 2, width: 80, height: 24, timestamp: 1_767_225_605, title: "dbg_1" },
    [0, "o", "a"],
    [1.5, "m", "b"],
  ]);
  // A stream that ends late.
  recording.event("o", "late");
  expect([lines().length, failures]).toEqual([3, []]);
});

test("where nothing was shown there is no file", async () => {
  expect(await (await open()).close()).toBeUndefined();
  expect(() => file()).toThrow("ENOENT");
});

test.each([
  ["is later", 60_000, 61.5],
  ["was set back", -3_600_000, 1.5],
])("a found recording goes on, with its hash and its time, when the clock %s", async (_, offsetMs, at) => {
  const before = await open();
  before.event("o", "a");
  clock.advance(1_500);
  before.event("o", "b");
  await before.close();
  clock = new FakeClock(new Date(clock.wallNow().getTime() + offsetMs).toISOString());
  const recording = await open();
  recording.event("o", "c");
  clock.advance(250);
  recording.event("o", "d");
  expect(await recording.close()).toEqual(word());
  expect(lines().slice(3)).toEqual([
    [at, "m", "the tunnel was started again"],
    [at, "o", "c"],
    [at + 0.25, "o", "d"],
  ]);
});

test("property: wherever it was torn, whole lines stay, the cut is said, and hash and spool are true", async () => {
  const before = await open();
  for (const text of ["é", "line\n", "x".repeat(70_000), "\u001b[2J"]) before.event("o", text);
  await before.close();
  // As a real clock, it goes on between any two looks at it.
  const { monotonicMs } = clock;
  clock.monotonicMs = () => {
    clock.advance(1);
    return monotonicMs.call(clock);
  };
  const whole = file();
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length }), async (to) => {
      writeFileSync(join(folder, NAME), whole.subarray(0, to));
      const kept = whole.subarray(0, whole.subarray(0, to).lastIndexOf(10) + 1);
      const spool = spoolOf();
      const recording = await open(spool);
      recording.event("o", "after");
      expect(await recording.close()).toEqual(word());
      expect(spool.bytes).toBe(file().length);
      if (kept.length > 0) expect(file().subarray(0, kept.length).equals(kept)).toBe(true);
      expect(lines()[0]).toMatchObject({ version: 2 });
      expect(lines().filter((line) => !Array.isArray(line))).toHaveLength(1);
      const times = lines().flatMap((line) => (Array.isArray(line) ? [Number(line[0])] : []));
      expect(times).toEqual([...times].sort((a, b) => a - b));
      const torn = to - kept.length;
      expect(file().toString().includes(`${torn} bytes of an unfinished line were cut off`)).toBe(torn > 0);
    }),
    { numRuns: runs(30) },
  );
});

test("one that was left whole, and that nothing follows in, is not changed: its hash may have been said", async () => {
  const before = await open();
  before.event("o", "a");
  const said = await before.close();
  expect(await (await open()).close()).toEqual(said);
  expect(word()).toEqual(said);
});

test.each(["no recording\n", '{"version":1}\n', "\n"])("%j is not gone on with", async (content) => {
  writeFileSync(join(folder, NAME), content);
  await expect(open()).rejects.toThrow();
  expect(file().toString()).toBe(content);
});

test("what is longer than any line is not taken for one that was torn", async () => {
  writeFileSync(join(folder, NAME), Buffer.alloc(5_000_000, "x"));
  await expect(open()).rejects.toThrow("no recording");
  expect(file()).toHaveLength(5_000_000);
});

test("one without room ends the session, and what was said of it stays true", async () => {
  const recording = await open(spoolOf(200));
  recording.event("o", "abc");
  recording.event("o", "much too long ".repeat(20));
  recording.event("o", "more");
  expect(failures).toHaveLength(1);
  expect(await recording.close()).toEqual(word());
  expect(lines().slice(1)).toEqual([[0, "o", "abc"]]);
});

test("a disk that fails ends the session, and the word is of what the file has", async () => {
  const recording = await open();
  recording.event("o", "abc");
  await recording.drained();
  rmSync(join(folder, NAME), { force: true });
  const gone = await RecordingFile.open("no/folder.cast", { spool: spoolOf(), clock }, (error) => failures.push(error));
  gone.event("o", "abc");
  expect(await gone.close()).toBeUndefined();
  expect(failures).toMatchObject([{ code: "ENOENT" }]);
  await recording.close();
});

test("what would control a terminal that prints the file is escaped, and read back as it was", async () => {
  const recording = await open();
  const text = "\u001b[2J\u007f\u0080\u009b31m\u202e\u2028\u{e0001}é漢";
  recording.event("o", text);
  await recording.close();
  expect(file().toString().replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(lines()[1]).toEqual([0, "o", text]);
});

test("streams that wait for the disk together add no listener each, and none stays", async () => {
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(warning.name);
  process.on("warning", warned);
  const recording = await open();
  const chunk = "x".repeat(262_144);
  for (let round = 0; round < 3; round += 1) {
    recording.event("o", chunk);
    await Promise.all(Array.from({ length: 40 }, () => recording.drained()));
  }
  for (let round = 0; round < 30; round += 1) {
    recording.event("o", chunk);
    await recording.drained();
  }
  expect(await recording.close()).toEqual(word());
  expect(lines()).toHaveLength(34);
  // A warning is told in a later turn of the event loop.
  await new Promise((done) => setImmediate(done));
  process.off("warning", warned);
  expect(warnings).toEqual([]);
});
