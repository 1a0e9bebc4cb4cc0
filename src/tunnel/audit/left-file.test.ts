import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { type ChainEnd, chainStart, verifyAudit } from "../../debug-link/audit-chain.ts";
import { Spool } from "../spool/spool.ts";
import { AuditLog } from "./audit-log.ts";
import { AuditMismatch, type Known } from "./left-file.ts";

const NAME = "dbg_1.audit.jsonl";
const SPEC = { mode: "exec" };
const START = chainStart("u-1", SPEC);
let folder: string;
let asides: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "left-"));
  asides = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

function tools() {
  const metrics = { audited: () => undefined, fsynced: () => undefined, spooled: () => undefined };
  const setAside = (files: number): void => {
    asides = files;
  };
  const spool = new Spool({ folder, limitBytes: 1_000_000, metrics: { ...metrics, setAside } });
  return { spool, clock: new FakeClock(), metrics, emit: () => undefined };
}
const file = (name = NAME) => readFileSync(join(folder, name));
const lines = () => file().toString().trimEnd().split("\n");
const write = (kept: readonly string[]) => writeFileSync(join(folder, NAME), kept.map((line) => `${line}\n`).join(""));

/** What a tunnel that died after three records has left. @returns what it had told */
async function left(instance = "tunnel-1"): Promise<Known["told"] & ChainEnd> {
  const log = await AuditLog.open(NAME, { start: START }, tools());
  await log.append("open", { uid: "u-1", spec: SPEC, instance });
  await log.append("request", { id: 1 });
  await log.append("request", { id: 2 });
  await log.close();
  return { ...log.durable, instance };
}
const open = (told: Known["told"], start = START) => AuditLog.open(NAME, { start, told }, tools());

test("a file that holds what was told is gone on with, also where it has more or its last line is torn", async () => {
  const told = await left();
  appendFileSync(join(folder, NAME), '{"at":');
  const log = await open({ ...told, records: 2, head: JSON.parse(lines()[2] ?? "").prev });
  await log.append("open", { uid: "u-1", spec: SPEC, instance: "tunnel-2", before: { ...told, instance: undefined } });
  await log.append("close", { reason: "client" });
  await log.close();
  expect(verifyAudit(file(), log.durable.head)).toMatchObject({ records: 6, problems: [], beyond: 0 });
  expect([readdirSync(folder), asides]).toEqual([[NAME], 0]);
});

test.each<[string, (all: readonly string[]) => readonly string[]]>([
  ["is cut", (all) => all.slice(0, 2)],
  ["has a line changed", (all) => all.toSpliced(1, 1, (all[1] ?? "").replace('"id":1', '"id":7'))],
  ["has a line that is no record", (all) => [...all, "{}"]],
  ["has a line taken out", (all) => all.toSpliced(1, 1)],
  ["has lines swapped", (all) => [all[0] ?? "", all[2] ?? "", all[1] ?? ""]],
])("a file that %s is set aside, and the session cannot begin", async (_, change) => {
  const told = await left();
  write(change(lines()));
  const changed = file();
  await expect(open(told)).rejects.toThrow(AuditMismatch);
  expect([readdirSync(folder), asides]).toEqual([[`${NAME}.aside`], 1]);
  expect(file(`${NAME}.aside`)).toEqual(changed);
  expect(tools().spool.waiting()).toEqual([]);
  // Neither it nor one that comes after it is removed for room.
  await left();
  write(["x"]);
  await expect(open(told)).rejects.toThrow(AuditMismatch);
  expect(() => tools().spool.take(1_000_000)).toThrow("full");
  expect([readdirSync(folder).sort(), asides]).toEqual([[`${NAME}.1.aside`, `${NAME}.aside`], 2]);
});

test("a file of another session is set aside", async () => {
  await left();
  await expect(open(undefined, chainStart("u-2", SPEC))).rejects.toThrow("of another session");
});

test("a file of before another tunnel had the session is put away, and a new one says what is missing in it", async () => {
  await left();
  const told = { records: 7, head: "a".repeat(64), instance: "tunnel-2" };
  const log = await open(told);
  await log.append("open", { uid: "u-1", spec: SPEC, instance: "tunnel-1", before: { records: 7, head: told.head } });
  await log.append("close", { reason: "client" });
  await log.close();
  expect([readdirSync(folder).sort(), asides]).toEqual([[NAME, `${NAME}.done`], 0]);
  const words = "7 records before this are missing or changed";
  expect(verifyAudit(file()).problems).toEqual([{ line: 1, words }]);
});

test("a file that is left for good gets its end, unless it was changed or is another's", async () => {
  const told = await left();
  expect(await AuditLog.finish(NAME, { told }, tools())).toBe(true);
  expect(verifyAudit(file(), told.head)).toMatchObject({ isClosed: true, problems: [], beyond: 1 });
  expect(await AuditLog.finish(NAME, { told: { ...told, instance: "tunnel-2", head: "b".repeat(64) } }, tools())).toBe(
    false,
  );
  await left();
  write(lines().slice(0, 2));
  await expect(AuditLog.finish(NAME, { told }, tools())).rejects.toThrow(AuditMismatch);
  writeFileSync(join(folder, NAME), '{"at"');
  expect(await AuditLog.finish(NAME, { told }, tools())).toBe(false);
  expect(tools().spool.waiting()).toEqual([]);
});
