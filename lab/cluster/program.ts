import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { sleep, systemClock } from "../../src/base/clock.ts";
import type { Watchdog } from "./watchdog.ts";

export interface ProgramOptions {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  /** Its whole environment. @default ours */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
  readonly watchdog: Watchdog;
  /** Called again until it returns true. Without it, a program counts as ready when it is started. */
  readonly isReady?: (signal: AbortSignal) => Promise<boolean>;
  /** @default 180_000: a cold API server on a busy machine of 2 cores was seen to need 25 s. */
  readonly readyTimeoutMs?: number;
}

/**
 * The environment of programs in Go. They collect garbage when their memory has grown fivefold, not when it has doubled:
 * loading our admission policies costs an API server a quarter less CPU so, a compiler's work a seventh less. An API
 * server stays below 1 GB.
 */
export function goEnvironment(): Readonly<Record<string, string | undefined>> {
  return { GOGC: "400", ...process.env };
}

/** A child process that tests can kill, freeze and bring back. Its output goes to a file. */
export class Program {
  readonly name: string;
  readonly logFile: string;
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.logFile = options.logFile;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Starts it without waiting until it is ready. */
  spawn(): void {
    if (this.#child !== undefined) throw new Error(`${this.name} is running already`);
    const { path, args, env, logFile, watchdog } = this.#options;
    const log = openSync(logFile, "a");
    // Its own process group: the terminal's Ctrl-C must reach only us, and we stop it in order.
    const child = spawn(path, args, { detached: true, stdio: ["ignore", log, log], env: env ?? process.env });
    closeSync(log);
    const { pid } = child;
    if (pid !== undefined) watchdog.add(pid);
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const ended = () => {
        if (pid !== undefined) watchdog.drop(pid);
        if (this.#child === child) this.#child = undefined;
        resolve();
      };
      child.once("exit", ended);
      child.once("error", ended);
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    this.spawn();
    await this.whenReady(signal);
  }

  /** @throws Error with the end of the log when the program exits first or the time is over. */
  async whenReady(signal: AbortSignal): Promise<void> {
    const { isReady, readyTimeoutMs = 180_000 } = this.#options;
    if (isReady === undefined) return;
    const deadline = performance.now() + readyTimeoutMs;
    for (;;) {
      signal.throwIfAborted();
      if (this.#child === undefined) throw new Error(`${this.name} ended while it was starting:\n${this.logTail()}`);
      if (await isReady(signal)) return;
      if (performance.now() > deadline) {
        throw new Error(`${this.name} was not ready after ${readyTimeoutMs / 1000} s:\n${this.logTail()}`);
      }
      await sleep(systemClock, 50, signal);
    }
  }

  /** Sends the signal and waits until the process is gone. Harmless when it is not running. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#send(signal);
    if (signal !== "SIGKILL") this.#send("SIGCONT"); // A paused process handles other signals only after SIGCONT.
    await this.#exited;
  }

  /** Sends SIGTERM, and SIGKILL if the program has not ended after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    const overdue = setTimeout(() => this.#send("SIGKILL"), graceMs);
    await this.kill("SIGTERM");
    clearTimeout(overdue);
  }

  /** Freezes it, like a machine that hangs: its sockets stay open and answer nothing. */
  pause(): void {
    this.#send("SIGSTOP");
  }

  resume(): void {
    this.#send("SIGCONT");
  }

  /** Kills it, if it runs, and starts it again on the same port and data. */
  async restart(signal: AbortSignal): Promise<void> {
    await this.kill();
    await this.start(signal);
  }

  /** Resolves when the running process is gone; at once when none runs. */
  whenExited(): Promise<void> {
    return this.#exited;
  }

  /** The last lines it wrote, for messages. */
  logTail(lines = 15): string {
    try {
      return readFileSync(this.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
    } catch {
      return "(no log)";
    }
  }

  #send(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }
}
