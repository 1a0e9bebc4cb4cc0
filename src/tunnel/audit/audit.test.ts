import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { chainStart, verifyAudit } from "../../debug-link/audit-chain.ts";

/** Each file that was opened: a disk that hangs is one whose methods never answer. */
const opened = vi.hoisted((): FileHandle[] => []);
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const open: typeof real.open = async (...words) => {
    const handle = await real.open(...words);
    opened.push(handle);
    return handle;
  };
  return { ...real, open };
});
// Another file of tests may have loaded the module before, with the real one.
vi.resetModules();
const { AuditFailed, AuditLog } = await import("./audit-log.ts");
const { Spool } = await import("../spool/spool.ts");
const never = (): Promise<void> => new Promise(() => undefined);

let folder: string;
let emitted: string[];
let results: string[];
const clock = new FakeClock();
const SPEC = { mode: "exec" };
const START = chainStart("u-1", SPEC);
const NAME = "dbg_1.audit.jsonl";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "audit-"));
  emitted = [];
  results = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const handle of opened.splice(0)) if (handle.fd !== -1) await handle.close();
  rmSync(folder, { recursive: true });
});

function parts(limitBytes = 1_000_000) {
  const spool = new Spool({ folder, limitBytes, metrics: { spooled: () => undefined, setAside: () => undefined } });
  const metrics = { audited: (result: string) => void results.push(result), fsynced: () => undefined };
  return { spool, clock, metrics, emit: (line: string) => void emitted.push(line) };
}
function lastOpened(): FileHandle {
  const handle = opened.at(-1);
  if (handle === undefined) throw new Error("no file was opened");
  return handle;
}
const file = () => readFileSync(join(folder, NAME));

test("a record is in the file when it was appended, and told on standard output as it is there", async () => {
  const log = await AuditLog.open(NAME, { start: START }, parts());
  await log.append("open", { uid: "u-1", spec: SPEC });
  expect(verifyAudit(file(), log.durable.head).problems).toEqual([]);
  await Promise.all(Array.from({ length: 50 }, (_, id) => log.append("request", { id })));
  await log.append("close", { reason: "client" });
  await log.close();
  expect(verifyAudit(file())).toMatchObject({ records: 52, problems: [], head: log.durable.head });
  expect(emitted.map((line) => `${line}\n`).join("")).toBe(file().toString());
});

test("a torn file is finished, and the chain goes on", async () => {
  const before = await AuditLog.open(NAME, { start: START }, parts());
  await before.append("open", { uid: "u-1", spec: SPEC });
  await before.close();
  appendFileSync(join(folder, NAME), '{"at":"2026');
  const tools = parts();
  const log = await AuditLog.open(NAME, { start: START }, tools);
  await log.close();
  expect(verifyAudit(file(), log.durable.head)).toMatchObject({ records: 2, isClosed: true, problems: [] });
  expect(file().toString()).toContain('"reason":"agent_lost"');
  expect(file().toString()).toContain('"tornBytes":11');
  expect(tools.spool.bytes).toBe(file().length);
});

test("where there is no room every record fails from then on", async () => {
  const log = await AuditLog.open(NAME, { start: START }, parts(600));
  await log.append("open", { uid: "u-1", spec: SPEC });
  await expect(log.append("request", { command: ["x".repeat(1_000)] })).rejects.toThrow(AuditFailed);
  await expect(log.append("request", {})).rejects.toThrow(AuditFailed);
  await log.close();
  expect(verifyAudit(file()).records).toBe(1);
});

test("a disk that does not answer fails", async () => {
  const log = await AuditLog.open(NAME, { start: START }, parts());
  const appended = log.append("open", {});
  clock.advance(2_000);
  await expect(appended).rejects.toThrow(AuditFailed);
  await log.close();
});

test("a disk that hangs holds up no end of a session", async () => {
  const log = await AuditLog.open(NAME, { start: START }, parts());
  const close = vi.spyOn(lastOpened(), "close").mockImplementation(never);
  const appended = log.append("open", {});
  clock.advance(2_000);
  await expect(appended).rejects.toThrow(AuditFailed);
  await log.close();
  expect(close).toHaveBeenCalledOnce();
});

test("a file that hangs only when it is closed holds up the end for two seconds", async () => {
  const log = await AuditLog.open(NAME, { start: START }, parts());
  await log.append("open", {});
  vi.spyOn(lastOpened(), "close").mockImplementation(never);
  const closed = log.close();
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(2_000);
  await closed;
  expect(log.failure).toBeInstanceOf(AuditFailed);
});

test.runIf(process.platform === "linux")("a file that cannot be read is not taken for an empty one", async () => {
  // Opens for reading and writing, and fails to read at its beginning.
  const never = () => expect.unreachable();
  const unreadable = { path: () => "/proc/self/mem", take: never, giveBack: never, done: never, setAside: never };
  await expect(AuditLog.open(NAME, { start: START }, { ...parts(), spool: unreadable })).rejects.toThrow("EIO");
});

test("a file whose end cannot be mended is closed again", async () => {
  const before = await AuditLog.open(NAME, { start: START }, parts());
  await before.append("open", { uid: "u-1", spec: SPEC });
  await before.close();
  // There is no room for the record of the end that is missing.
  await expect(AuditLog.open(NAME, { start: START }, parts(10))).rejects.toThrow(AuditFailed);
  await expect.poll(() => lastOpened().fd).toBe(-1);
});

test("what was uploaded goes when room is needed, and nothing else", () => {
  writeFileSync(join(folder, "a"), "x".repeat(400));
  writeFileSync(join(folder, "b"), "x".repeat(400));
  const { spool } = parts(1_000);
  expect(() => spool.take(300)).toThrow("full");
  spool.done("a");
  spool.take(300);
  expect([spool.waiting(), spool.names(), spool.bytes]).toEqual([["b"], ["b"], 700]);
  spool.done("gone");
});

test.each([
  ["its own share", "share-full"],
  ["the spool", "failed"],
])("a session that has used up %s counts as %s", async (what, result) => {
  const all = parts(600);
  const spool = what === "the spool" ? all.spool : all.spool.share(400, [NAME]);
  const log = await AuditLog.open(NAME, { start: START }, { ...all, spool });
  await log.append("open", {});
  await expect(log.append("request", { words: "x".repeat(500) })).rejects.toThrow(AuditFailed);
  expect(results).toEqual(["durable", result]);
  await log.close();
});
