import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../base/clock.ts";
import { type Boundary, programFiles, SYSTEM_PATH } from "./boundary.ts";
import { PLUGIN_BOUNDS } from "./bounds.ts";
import { childCommand, childFiles } from "./child-command.ts";
import { Lines } from "./lines.ts";
import { watchMemory } from "./memory-watch.ts";
import { type CallMessage, type FromChild, readMessage, type ToChild } from "./messages.ts";

/** Why a plugin's process was ended by the operator, or ended in a way that says nothing. The set is closed. */
type PluginFaultCode = "PLUGIN_NOT_STARTED" | "PLUGIN_ENDED" | "PLUGIN_MESSAGE" | "PLUGIN_FLOOD" | "PLUGIN_MEMORY";

class PluginFault extends Error {
  override readonly name = "PluginFault";
  readonly code: PluginFaultCode;

  constructor(code: PluginFaultCode, message: string) {
    super(message);
    this.code = code;
  }
}

export interface PluginRun {
  /** Path of the module, in the one folder that the child may read. */
  readonly module: string;
  readonly operation: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly startedAt: Date;
  readonly timeLimitMs: number;
  /** False: `verify` is left out. @default true */
  readonly verifies?: boolean;
  /** For tests: what Node.js runs in place of the program that loads the module. */
  readonly command?: readonly string[];
  /** @default none: the operator's own pod */
  readonly boundary?: Boundary | undefined;
}

export type CallAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: number; readonly message: string };

/** What the plugin wrote to stdout and stderr: how much, and the beginning of it. Not redacted. */
export interface Noise {
  readonly bytes: number;
  readonly head: string;
}

export interface PluginProcessPorts {
  readonly clock: Clock;
  /** Carries out a request. What it throws ends the run. */
  readonly answer: (call: CallMessage, signal: AbortSignal) => Promise<CallAnswer>;
  /** Once, when the process has ended. */
  readonly ended: (noise: Noise) => void;
}

export type PluginOutcome = Exclude<FromChild, CallMessage>;

/** A process that was killed has ended by then, or it never will: it waits for a disk. */
const REAP_MS = 5_000;

/**
 * Starts a process for one run of a plugin, carries out what it asks for, and ends it: when it has answered, when `signal`
 * aborts, and when it goes beyond a bound. It resolves or rejects when the process is gone.
 *
 * @throws PluginFault; `signal.reason` on abort; what `answer` throws
 */
export async function runPlugin(
  run: PluginRun,
  ports: PluginProcessPorts,
  signal: AbortSignal,
): Promise<PluginOutcome> {
  const { module, operation, params, startedAt, timeLimitMs, verifies = true } = run;
  const order = { operation, params, startedAt: startedAt.toISOString(), timeLimitMs, verifies };
  return await inProcess(run, { type: "run", ...filesOf(module), ...order }, ports, signal);
}

/**
 * Loads a plugin's module in the same process, within the same bounds, and runs no operation. Its result has
 * `typeof` of `bind`, `run` and `verify` for each operation of the default export.
 *
 * @throws as {@link runPlugin}
 */
export async function loadPlugin(
  module: string,
  { clock, boundary }: Pick<PluginProcessPorts, "clock"> & Pick<PluginRun, "boundary">,
  signal: AbortSignal,
): Promise<PluginOutcome> {
  const answer = async (): Promise<CallAnswer> => ({ ok: false, status: 400, message: "no operation runs yet" });
  const ports = { clock, answer, ended: () => undefined };
  return await inProcess({ module, boundary }, { type: "load", ...filesOf(module) }, ports, signal);
}

function filesOf(module: string): { readonly module: string; readonly api: string } {
  return { module: pathToFileURL(module).href, api: childFiles().api };
}

type Place = Pick<PluginRun, "module" | "command" | "boundary">;

async function inProcess(
  place: Place,
  order: ToChild,
  ports: PluginProcessPorts,
  signal: AbortSignal,
): Promise<PluginOutcome> {
  signal.throwIfAborted();
  const child = start(place);
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => child.pid === undefined && resolve());
  });
  const noise = { bytes: 0, head: "" };
  const ends = new AbortController();
  try {
    return await new Promise<PluginOutcome>((resolve, reject) => {
      const fail = (error: unknown): void => {
        ends.abort(error);
        reject(error);
      };
      signal.addEventListener("abort", () => fail(signal.reason), { once: true, signal: ends.signal });
      watch(child, noise, ports.clock, fail, ends.signal);
      // Of the kind that spawn makes for "pipe"; a process that was not started may have none.
      const pipe = child.stdio[3] as Duplex | null | undefined;
      if (pipe) converse(pipe, order, ports, { resolve, fail, ends: ends.signal });
    });
  } finally {
    ends.abort();
    child.kill("SIGKILL");
    for (const stream of child.stdio) stream?.destroy();
    await reaped(exited, ports.clock);
    ports.ended(noise);
  }
}

async function reaped(exited: Promise<void>, clock: Clock): Promise<void> {
  let cancel = (): void => undefined;
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(REAP_MS, resolve);
  });
  await Promise.race([exited, late]);
  cancel();
}

function start({ module, command, boundary }: Place): ChildProcess {
  const folder = dirname(module);
  const node = [process.execPath, ...(command ?? childCommand(folder))];
  const visible = (): readonly string[] => [...programFiles(), ...childFiles().readable, folder];
  const [program = "", ...args] = boundary?.enclose(node, { visible: visible(), folder }) ?? node;
  const child = spawn(program, args, {
    cwd: folder,
    env: boundary === undefined ? {} : { PATH: SYSTEM_PATH },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  if (child.pid !== undefined) {
    try {
      // A plugin that computes without end leaves the operator its share of the processor.
      setPriority(child.pid, 10);
    } catch {
      // It has ended already.
    }
  }
  return child;
}

/** Everything about the process itself that ends a run. */
function watch(
  child: ChildProcess,
  noise: { bytes: number; head: string },
  clock: Clock,
  fail: (error: PluginFault) => void,
  ends: AbortSignal,
): void {
  child.on("error", (error) =>
    fail(new PluginFault("PLUGIN_NOT_STARTED", `its process was not started: ${error.message}`)),
  );
  // The pipe may hold an answer that was written before: `close` comes after all streams have ended.
  child.once("close", (code, by) =>
    fail(new PluginFault("PLUGIN_ENDED", `its process ended without an answer (${by ?? `exit code ${code}`})`)),
  );
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("error", () => undefined);
    stream?.on("data", (piece: Buffer) => {
      const room = Math.max(PLUGIN_BOUNDS.noiseKeptBytes - noise.bytes, 0);
      noise.head += piece.subarray(0, room).toString("utf8");
      noise.bytes += piece.length;
      if (noise.bytes > PLUGIN_BOUNDS.noiseBytes) {
        fail(new PluginFault("PLUGIN_FLOOD", `it wrote more than ${PLUGIN_BOUNDS.noiseBytes} bytes to its output`));
      }
    });
  }
  if (child.pid === undefined) return;
  const { residentBytes, memoryLookMs: lookMs } = PLUGIN_BOUNDS;
  const unwatch = watchMemory(child.pid, { residentBytes, lookMs, clock }, () =>
    fail(new PluginFault("PLUGIN_MEMORY", `it holds more than ${residentBytes / 1_048_576} MiB of memory`)),
  );
  ends.addEventListener("abort", unwatch, { once: true });
}

interface Ends {
  readonly resolve: (outcome: PluginOutcome) => void;
  readonly fail: (error: unknown) => void;
  readonly ends: AbortSignal;
}

/** The pipe: requests are carried out one after the other, and the first answer is the last word. */
function converse(pipe: Duplex, order: ToChild, ports: PluginProcessPorts, { resolve, fail, ends }: Ends): void {
  const lines = new Lines(PLUGIN_BOUNDS.messageBytes, PLUGIN_BOUNDS.totalBytes);
  const calls = { all: 0, waiting: 0, last: Promise.resolve() };
  let hasAnswered = false;
  const carryOut = async (call: CallMessage): Promise<void> => {
    if (ends.aborted) return;
    const { id } = call;
    const answer = await ports.answer(call, ends);
    calls.waiting -= 1;
    await say(pipe, answer.ok ? { type: "answer", id, value: answer.value } : { type: "refusal", id, ...answer }, ends);
  };
  const take = (line: string): void => {
    if (ends.aborted || hasAnswered) return;
    const message = readMessage(line, PLUGIN_BOUNDS.depth);
    if (message === undefined) {
      fail(new PluginFault("PLUGIN_MESSAGE", "it sent what is no message"));
      return;
    }
    if (message.type !== "call") {
      hasAnswered = true;
      // What it asked for before is not cut off: it would be unknown whether the API server had taken it.
      void calls.last.then(() => resolve(message));
      return;
    }
    calls.all += 1;
    calls.waiting += 1;
    if (calls.all > PLUGIN_BOUNDS.calls || calls.waiting > PLUGIN_BOUNDS.waitingCalls) {
      fail(
        new PluginFault(
          "PLUGIN_FLOOD",
          calls.waiting > PLUGIN_BOUNDS.waitingCalls
            ? `it sent more than ${PLUGIN_BOUNDS.waitingCalls} requests before an answer`
            : `it sent more than ${PLUGIN_BOUNDS.calls} requests`,
        ),
      );
      return;
    }
    calls.last = calls.last.then(() => carryOut(message)).catch(fail);
  };
  pipe.on("error", () => undefined);
  pipe.on("data", (piece: Buffer) => {
    if (ends.aborted) return;
    const taken = lines.take(piece);
    if (typeof taken === "string") return fail(new PluginFault("PLUGIN_FLOOD", `it sent ${taken}`));
    for (const line of taken) take(line);
  });
  say(pipe, order, ends).catch(fail);
}

/** Waits until the child has taken it: a child that reads nothing holds up itself. */
async function say(pipe: Duplex, message: ToChild, signal: AbortSignal): Promise<void> {
  if (signal.aborted || pipe.destroyed) return;
  if (!pipe.write(`${JSON.stringify(message)}\n`)) await once(pipe, "drain", { signal });
}
