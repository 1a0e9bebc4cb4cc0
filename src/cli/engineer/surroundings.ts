import { systemClock } from "../../base/clock.ts";
import type { Environment } from "../../base/settings.ts";
import { FriendlyError } from "../kernel/command.ts";
import { givenText } from "../kernel/given/given-file.ts";
import { sayable } from "../kernel/output.ts";
import type { Surroundings, ToolAnswer } from "./calling.ts";

/** Loads a module of Node's where it is used: those of this file are a tenth of what a short command loads. */
const builtin = process.getBuiltinModule;

export const processSurroundings: Surroundings = {
  env: process.env,
  clock: systemClock,
  out: (words) => void process.stdout.write(words),
  error: (words) => void process.stderr.write(sayable(words)),
  isTTY: process.stdout.isTTY === true,
  readInput: () => givenText("-"),
  askSecret: process.stdin.isTTY === true ? askSecret : undefined,
  openBrowser: process.stderr.isTTY === true ? openBrowser : undefined,
  runTool,
  ...(process.stdin.isTTY === true && process.stdout.isTTY === true && { runShell }),
};

const MAX_TOOL_BYTES = 16 * 1024 * 1024;

function runTool(program: string, args: readonly string[], signal: AbortSignal): Promise<ToolAnswer | undefined> {
  const { execFile } = builtin("node:child_process");
  return new Promise((resolve, reject) => {
    execFile(program, [...args], { maxBuffer: MAX_TOOL_BYTES, signal }, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      else if (error.code === "ENOENT") resolve(undefined);
      else if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") {
        reject(new FriendlyError(`${program} said more than ${MAX_TOOL_BYTES} bytes, and was ended`, { cause: error }));
      } else reject(signal.aborted ? signal.reason : error);
    });
  });
}

function runShell(variables: Environment, signal: AbortSignal): Promise<void> {
  const shell = process.env.SHELL || (process.platform === "win32" ? "cmd.exe" : "/bin/sh");
  const child = builtin("node:child_process").spawn(shell, { stdio: "inherit", env: { ...process.env, ...variables } });
  // An interactive shell ignores SIGTERM, and ends with its terminal.
  const onAbort = (): void => void child.kill("SIGHUP");
  signal.addEventListener("abort", onAbort, { once: true });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}

/** Each system's own program. The address is a separate argument, so no shell reads it. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  linux: ["xdg-open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

function openBrowser(address: string): boolean {
  const [program, ...args] = OPENERS[process.platform] ?? [];
  // Without a screen `xdg-open` would start a browser in the terminal.
  const blind = process.platform === "linux" && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY;
  if (program === undefined || blind) return false;
  const child = builtin("node:child_process").spawn(program, [...args, address], { stdio: "ignore", detached: true });
  // There is no such program; the address is printed as well.
  child.once("error", () => undefined);
  child.unref();
  return true;
}

/** Reads without showing: readline echoes into a stream that drops everything. */
async function askSecret(question: string, signal: AbortSignal): Promise<string> {
  process.stderr.write(sayable(question));
  const output = new (builtin("node:stream").Writable)({ write: (_chunk, _encoding, done) => done() });
  const lines = builtin("node:readline/promises").createInterface({ input: process.stdin, output, terminal: true });
  try {
    // In raw mode Ctrl-C is an ordinary character: send the signal ourselves.
    lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    return await lines.question("", { signal });
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}
