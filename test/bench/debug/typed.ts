import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";

export const PIPE: unique symbol = Symbol("pipe");

export interface Piped {
  /** A file for its standard input, or a pipe that is written to. */
  readonly stdin?: string | typeof PIPE;
  /** Its output is counted nowhere and goes nowhere. */
  readonly drop?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A command line that was started; what it says is kept, with the time of each line. */
export class Typed {
  readonly child: ChildProcess;
  readonly startedMs = performance.now();
  readonly ended: Promise<number | null>;
  out = "";
  error = "";
  #isOver = false;
  readonly #wakes: (() => void)[] = [];

  constructor([path = "", ...args]: readonly string[], { stdin, drop = false, env = process.env }: Piped = {}) {
    const input = stdin === undefined ? "ignore" : stdin === PIPE ? "pipe" : openSync(stdin, "r");
    this.child = spawn(path, args, { env, stdio: [input, drop ? "ignore" : "pipe", "pipe"] });
    if (typeof input === "number") closeSync(input);
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
      this.#wake();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.error += text;
      this.#wake();
    });
    this.ended = once(this.child, "close").then(([code]) => {
      this.#isOver = true;
      this.#wake();
      return code as number | null;
    });
  }

  /** Waits for words on either output. @returns what was found, and when in ms since the start */
  async says(words: RegExp, signal: AbortSignal): Promise<{ readonly found: RegExpExecArray; readonly atMs: number }> {
    const stopped = once(signal, "abort").then(() => undefined);
    for (;;) {
      const found = words.exec(this.out) ?? words.exec(this.error);
      if (found !== null) return { found, atMs: performance.now() - this.startedMs };
      signal.throwIfAborted();
      if (this.#isOver) throw new Error(`it ended before it said ${words}:\n${this.out}\n${this.error}`);
      await Promise.race([new Promise<void>((wake) => this.#wakes.push(wake)), stopped]);
    }
  }

  /** Waits for its end. @returns how long it took, in ms @throws Error when it failed */
  async done(): Promise<number> {
    const code = await this.ended;
    if (code !== 0) throw new Error(`it ended with ${code}:\n${this.out.slice(-2_000)}\n${this.error.slice(-2_000)}`);
    return performance.now() - this.startedMs;
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }
}
