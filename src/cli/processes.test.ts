import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

// Signals, exit codes and log streams belong to a process, so these tests start one.

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}, detached = false) {
  const child = spawn(process.execPath, args, {
    detached,
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
  const { processLogger } = await import(${module("services/process-logger.ts")});
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

/** A program that prints `up` and waits; `stopping` decides what it does on a signal. */
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
  expect(await ended).toMatchObject({ code: 130, error: expect.stringContaining("stopped at once") });
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

const OLD_NODE = `data:text/javascript,
  if (process.argv[1]?.endsWith("sallyport.mjs"))
    Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } })`;

it.each([
  ["to it alone, as a supervisor sends it", (pid: number) => process.kill(pid, "SIGINT")],
  ["to both, as a terminal sends Ctrl-C", (pid: number) => process.kill(-pid, "SIGINT")],
])("under an older Node bin/sallyport.mjs ends with its child at a SIGINT %s", async (_how, interrupt) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const bin = join(import.meta.dirname, "../../bin/sallyport.mjs");
  const { port } = server.address() as AddressInfo;
  const env = { SALLYPORT_URL: `http://127.0.0.1:${port}`, SALLYPORT_KEY: `sk_${"k".repeat(40)}` };
  const { child, ended } = start(["--import", OLD_NODE, bin, "resources", "watch"], env, true);
  const [socket] = await Promise.race([once(server, "connection"), ended.then(({ error }) => [error])]);
  expect(socket).toBeInstanceOf(Socket);
  const gone = once(socket, "close");
  socket.resume();
  interrupt(child.pid ?? 0);
  expect(await ended).toEqual({ code: 130, out: "", error: "" });
  await gone;
});

/** A port that this process holds until the test is over. */
async function takenPort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

const KUBECONFIG = `{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {token: t}}],
  clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: k, user: u}}]}`;

it.each([
  ["platform", "--port N, or set SALLYPORT_PLATFORM_PORT", { SALLYPORT_PLATFORM_PORT: "" }],
  ["platform", "set SALLYPORT_PLATFORM_METRICS_PORT", { SALLYPORT_PLATFORM_METRICS_PORT: "" }],
  ["agent", "set SALLYPORT_HEALTH_PORT", { SALLYPORT_HEALTH_PORT: "" }],
  ["operator", "set SALLYPORT_HEALTH_PORT", { SALLYPORT_HEALTH_PORT: "" }],
])("%s on a port in use says which, who to ask and how to take another: %s", async (name, way, setting) => {
  const port = await takenPort();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-port-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, KUBECONFIG);
  const { ended } = start([join(import.meta.dirname, "main.ts"), name], {
    SALLYPORT_PLATFORM_DATA: "memory",
    SALLYPORT_PLATFORM_PORT: "0",
    SALLYPORT_PLATFORM_URL: "http://127.0.0.1:1",
    SALLYPORT_HEALTH_HOST: "127.0.0.1",
    SALLYPORT_RUNTIME_KEY_FILE: kubeconfig,
    SALLYPORT_KUBECONFIG: kubeconfig,
    ...Object.fromEntries(Object.keys(setting).map((key) => [key, port])),
  });
  const { code, error } = await ended;
  expect(code).toBe(1);
  expect(error).toBe(
    [
      `sallyport ${name}: port ${port} of 127.0.0.1 is in use by another process`,
      `  which one:    ss -ltnp 'sport = :${port}'    or    lsof -nP -iTCP:${port} -sTCP:LISTEN`,
      `  another port: ${way}`,
      "",
    ].join("\n"),
  );
});
