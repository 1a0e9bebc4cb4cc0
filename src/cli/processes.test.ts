import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

// Signals, exit codes and log streams belong to a process, so these run one.

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { out: "", error: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.error += text;
  });
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...said })));
  return { child, ended };
}

const script = (text: string, env?: Readonly<Record<string, string>>) =>
  start(["--input-type=module", "-e", text], env);
const module = (name: string) => JSON.stringify(join(import.meta.dirname, name));

const LOGS = `
  const { processLogger } = await import(${module("process-logger.ts")});
  const log = processLogger("agent", process.env);
  log.debug({}, "quiet");
  log.info({ token: "canary-1", request: { authorization: "canary-2", inner: { apiKey: "canary-3" } }, key: "shop/web" }, "acted");`;

it("logs a line of JSON an event where there is no terminal, and none of the fields that hold secrets", async () => {
  const { out } = await script(LOGS).ended;
  expect(out).not.toContain("canary");
  expect(out.trim().split("\n")).toHaveLength(1);
  expect(JSON.parse(out)).toMatchObject({
    level: "info",
    component: "agent",
    msg: "acted",
    key: "shop/web",
    token: "[redacted]",
  });
});

it("logs for people when told to, still without secrets", async () => {
  const { out } = await script(LOGS, { SALLYPORT_LOG_FORMAT: "pretty", SALLYPORT_LOG_LEVEL: "debug" }).ended;
  expect(out).toMatch(/DEBUG.*agent: quiet/);
  expect(out).toMatch(/INFO.*agent: acted/);
  expect(out).not.toContain("canary");
});

it("refuses a log level that does not exist", async () => {
  const { error } = await script(LOGS, { SALLYPORT_LOG_LEVEL: "loud" }).ended;
  expect(error).toContain("SALLYPORT_LOG_LEVEL must be one of debug, info, warn, error, not loud");
});

/** Says `up`, then waits; `stopping` decides what it does when told to stop. */
const waits = (stopping: string) => `
  const { stopSignals } = await import(${module("stop-signals.ts")});
  const stop = stopSignals((why) => process.stderr.write(why));
  const held = setInterval(() => {}, 1000);
  stop.signal.addEventListener("abort", () => { process.stdout.write(stop.signal.reason.message); ${stopping} });
  process.stdout.write("up");`;

async function said(child: ChildProcess, word: string): Promise<void> {
  await new Promise<void>((resolve) =>
    child.stdout?.on("data", (text: string) => void (text.includes(word) && resolve())),
  );
}

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s asks for an orderly stop", async (name) => {
  const { child, ended } = script(waits("clearInterval(held); stop.release(); process.exitCode = 5;"));
  await said(child, "up");
  child.kill(name);
  expect(await ended).toMatchObject({ code: 5, out: `upstopped by ${name}` });
});

it("the second Ctrl-C ends the process at once", async () => {
  const { child, ended } = script(waits(""));
  await said(child, "up");
  child.kill("SIGINT");
  await said(child, "stopped");
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130, error: expect.stringContaining("asked twice") });
});

it("bin/sallyport.mjs runs the command line and passes on its exit code", async () => {
  const bin = join(import.meta.dirname, "../../bin/sallyport.mjs");
  expect(await start([bin, "version"]).ended).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^sallyport \d+\.\d+\.\d+ \(Node \d+/),
  });
  expect(await start([bin, "gaet"]).ended).toMatchObject({
    code: 2,
    error: expect.stringContaining("there is no command gaet"),
  });
});
