import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { loadPlugin } from "./plugin-process.ts";

async function loaded(text: string, signal = AbortSignal.timeout(60_000)) {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-load-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const module = join(folder, "plugin.mjs");
  await writeFile(module, text);
  return loadPlugin(module, { clock: systemClock }, signal).catch((error: unknown) => error);
}

test("a module is loaded and nothing of it is run: the types of its functions are the answer", async () => {
  const module = `import { defineOperation } from "@sallyport/plugin";
    const a = defineOperation({ bind: 1, run() { throw new Error("it ran"); }, verify() {} });
    export default { a, b: 5 };`;
  expect(await loaded(module)).toEqual({
    type: "done",
    result: {
      a: { bind: "number", run: "function", verify: "function" },
      b: { bind: "undefined", run: "undefined", verify: "undefined" },
    },
  });
});

test.each([
  [
    "imports a name that is not there",
    `import { defineOperation,\n  OperationErr } from "@sallyport/plugin";`,
    { line: 2, column: 3 },
    "does not provide an export named 'OperationErr'",
  ],
  ["throws", `\nconst a = 1;\n  oops();`, { line: 3, column: 3 }, "oops is not defined"],
  ["throws what is no error", `throw "words";`, undefined, "words"],
  ["has an error without a stack", `throw Object.assign(new Error("words"), { stack: 5 });`, undefined, "words"],
  [
    "throws where nobody waits",
    `setTimeout(() => {\n  throw new Error("late");\n});\nawait new Promise(() => undefined);`,
    { line: 2, column: 9 },
    "late",
  ],
  ["throws what cannot be shown", `throw { toString() { throw 1; } };`, undefined, "what cannot be shown"],
  [
    "throws an error that throws",
    `throw Object.defineProperty(new Error(), "message", { get() { throw 1; } });`,
    undefined,
    "what cannot be shown",
  ],
  [
    "rejects with what cannot be shown",
    `Promise.reject({ get [Symbol.toPrimitive]() { throw 1; } }); await new Promise(() => undefined);`,
    undefined,
    "what cannot be shown",
  ],
  ["reads a file", `import "node:fs";`, undefined, "a plugin may not import node:fs"],
])("a module that %s fails with its place", async (_, text, at, message) => {
  const failed = await loaded(text);
  expect(failed).toMatchObject({ type: "failed", how: "crashed", message: expect.stringContaining(message) });
  expect((failed as { readonly at?: unknown }).at).toEqual(at);
});

test("a module that never ends is killed by the signal", async () => {
  const stop = new AbortController();
  const done = loaded("for (;;);", stop.signal);
  stop.abort(new Error("late"));
  expect(await done).toMatchObject({ message: "late" });
});
