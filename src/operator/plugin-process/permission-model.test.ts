import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { childCommand } from "./child-command.ts";
import { runPlugin } from "./plugin-process.ts";

test("the permission model refuses files, /proc, processes, workers, addons, WASI and debuggers to code that is past everything else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-plugin-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const outside = await mkdtemp(join(tmpdir(), "sallyport-token-"));
  onTestFinished(() => rm(outside, { recursive: true, force: true }));
  await writeFile(join(outside, "token"), "the operator's token");
  const probe = join(folder, "probe.mjs");
  await writeFile(
    probe,
    `import { writeSync } from "node:fs";
const of = (name) => process.getBuiltinModule(name);
const tries = {
  token: () => of("fs").readFileSync(${JSON.stringify(join(outside, "token"))}),
  environment: () => of("fs").readFileSync("/proc/" + process.ppid + "/environ"),
  own: () => of("fs").readFileSync("/proc/self/environ"),
  blob: async () => (await of("fs").openAsBlob(${JSON.stringify(join(outside, "token"))})).text(),
  promise: () => of("fs/promises").readFile(${JSON.stringify(join(outside, "token"))}),
  settings: () => process.loadEnvFile(${JSON.stringify(join(outside, "token"))}),
  watch: () => of("fs").watch(${JSON.stringify(outside)}).close(),
  folder: () => of("fs").opendirSync(${JSON.stringify(outside)}),
  require: () => of("module").createRequire(${JSON.stringify(`${outside}/`)})("./token"),
  copy: () => of("fs").cpSync(${JSON.stringify(join(outside, "token"))}, ${JSON.stringify(join(folder, "copy"))}),
  report: () => process.report.writeReport(${JSON.stringify(join(outside, "report"))}),
  heap: () => of("v8").writeHeapSnapshot(${JSON.stringify(join(outside, "heap"))}),
  trace: () => of("trace_events").createTracing({ categories: ["node"] }).enable(),
  away: () => process.chdir("/tmp"),
  memory: () => of("fs").openSync("/proc/" + process.ppid + "/mem", "r"),
  link: () => of("fs").symlinkSync(${JSON.stringify(join(outside, "token"))}, ${JSON.stringify(join(folder, "link"))}),
  write: () => of("fs").writeFileSync(${JSON.stringify(join(folder, "x"))}, "x"),
  child: () => of("child_process").spawnSync("/bin/true"),
  instead: () => process.execve("/bin/true", ["true"], {}),
  worker: () => new (of("worker_threads").Worker)("1", { eval: true }),
  wasi: () => new (of("wasi").WASI)({ version: "preview1" }),
  debugger: () => of("inspector").open(0),
  addon: () => process.dlopen({ exports: {} }, "/x.node"),
  binding: () => process.binding("fs"),
  database: () => new (of("node:sqlite").DatabaseSync)(${JSON.stringify(join(outside, "db"))}),
  engine: () => of("crypto").setEngine("/x.so"),
};
const passed = [];
for (const [name, attempt] of Object.entries(tries)) try { await attempt(); passed.push(name); } catch {}
writeSync(3, JSON.stringify({ type: "done", result: { passed, env: { ...process.env } } }) + "\\n");
`,
  );
  const outcome = await runPlugin(
    {
      ...{ module: probe, operation: "x", params: {}, startedAt: new Date(), timeLimitMs: 60_000 },
      command: [...childCommand(folder).slice(0, -1), probe],
    },
    { clock: systemClock, answer: async () => ({ ok: true, value: undefined }), ended: () => undefined },
    AbortSignal.timeout(60_000),
  );
  expect(outcome).toEqual({ type: "done", result: { passed: [], env: {} } });
  expect(() => readFileSync(join(outside, "db"))).toThrow();
});
