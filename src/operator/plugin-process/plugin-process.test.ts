import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { CallMessage } from "./messages.ts";
import { type Noise, runPlugin } from "./plugin-process.ts";

// The other end of the pipe may be anything: these programs write to it as they like.

const CALL = `{"type":"call","id":1,"verb":"get","arguments":{}}`;

async function against(
  program: string,
  {
    signal = AbortSignal.timeout(60_000),
    onCall = () => undefined,
  }: { signal?: AbortSignal; onCall?: () => void } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-child-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const module = join(folder, "child.mjs");
  await writeFile(
    module,
    `import { readSync, writeSync } from "node:fs";
const say = (text) => { for (let at = 0; at < text.length; ) try { at += writeSync(3, text.slice(at)); } catch (error) { if (error.code !== "EAGAIN") throw error; } };
writeSync(2, String(process.pid));
${program}`,
  );
  const asked: CallMessage[] = [];
  let noise: Noise | undefined;
  const done = await runPlugin(
    { module, operation: "x", params: {}, startedAt: new Date(), timeLimitMs: 60_000, command: [module] },
    {
      clock: systemClock,
      answer: async (call) => {
        asked.push(call);
        onCall();
        return { ok: true, value: null };
      },
      ended: (said) => {
        noise = said;
      },
    },
    signal,
  ).catch((error: unknown) => error);
  return { done, asked, pid: Number(/^\d+/.exec(noise?.head ?? "")?.[0]) };
}

test.each([
  ["exits without an answer", "process.exit(0);", "its process ended without an answer (exit code 0)"],
  ["kills itself", `process.kill(process.pid, "SIGKILL");`, "its process ended without an answer (SIGKILL)"],
  ["says what is no JSON", `say("hello\\n");`, "it sent what is no message"],
  ["says null", `say("null\\n");`, "it sent what is no message"],
  ["says an unknown word", `say('{"type":"token"}\\n');`, "it sent what is no message"],
  [
    "asks for an unknown verb",
    `say('{"type":"call","id":1,"verb":"exec","arguments":{}}\\n');`,
    "it sent what is no message",
  ],
  ["nests without end", `say("[".repeat(100000) + "\\n");`, "it sent what is no message"],
  [
    "nests within texts, and then in earnest",
    `say('["[[[[",' + "[".repeat(70) + "\\n");`,
    "it sent what is no message",
  ],
  ["begins a line that never ends", `for (;;) say("x".repeat(65536));`, "it sent a message of more than 2097152 bytes"],
  ["asks a million times", `for (;;) say('${CALL}\\n'.repeat(100));`, "it sent more than 16 requests before an answer"],
])("a child that %s ends the run with words", async (_, program, words) => {
  const { done, pid } = await against(`${program} setInterval(() => undefined, 1000);`);
  expect(done).toMatchObject({ name: "PluginFault", message: words });
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("the first answer counts: what follows is not read, and nothing of it is carried out", async () => {
  const answer = (said: string): string => `{"type":"done","result":{"said":"${said}"}}`;
  const { done, asked, pid } = await against(
    `say('${answer("first")}\\n${answer("second")}\\n${CALL}\\n'); setInterval(() => undefined, 1000);`,
  );
  expect(done).toEqual({ type: "done", result: { said: "first" } });
  expect(asked).toEqual([]);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("a message in pieces is one, and what was asked for before the answer is carried out", async () => {
  const { done, asked } = await against(
    `say('${CALL.slice(0, 20)}'); setTimeout(() => say('${CALL.slice(20)}\\n{"type":"done","result":{}}\\n'), 20);`,
  );
  expect(done).toEqual({ type: "done", result: {} });
  expect(asked).toEqual([{ type: "call", id: 1, verb: "get", arguments: {} }]);
});

test("an abort kills a child that does not listen, and is waited for until it is gone", async () => {
  const stop = new AbortController();
  const onCall = (): void => stop.abort(new Error("revoked"));
  const { done, pid } = await against(`say('${CALL}\\n'); for (;;);`, { signal: stop.signal, onCall });
  expect(done).toMatchObject({ message: "revoked" });
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
