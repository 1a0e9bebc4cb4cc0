import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** The commands of a program of the benchmark: one argument, one answer. */
type Commands = Readonly<Record<string, (argument: never) => unknown>>;

interface Request {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

interface Response {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/**
 * A program of the benchmark in its own process, so that the measured program shares no thread with the measuring one.
 */
export class Child<C extends Commands> {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;

  constructor(file: URL, nodeOptions: readonly string[] = []) {
    this.#process = fork(file, { serialization: "advanced", execArgv: [...nodeOptions] });
    this.#process.on("message", ({ id, result, error }: Response) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error));
    });
    this.#process.once("exit", (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${file} ended: ${signal ?? code}`));
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  call<K extends keyof C & string>(name: K, ...[argument]: Parameters<C[K]>): Promise<Awaited<ReturnType<C[K]>>> {
    this.#asked += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#asked, answer);
    const request: Request = { id: this.#asked, name, argument };
    this.#process.send(request);
    return answer.promise as Promise<Awaited<ReturnType<C[K]>>>;
  }

  /** Closes the channel, which ends the process; kills it after ten seconds. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    if (this.#process.connected) this.#process.disconnect();
    const late = setTimeout(() => this.#process.kill("SIGKILL"), 10_000);
    await gone;
    clearTimeout(late);
  }
}

/** The child's side: runs until the parent closes the channel. */
export function serveCommands<C extends Commands>(
  commands: C,
  close: () => Promise<void> = async () => undefined,
): void {
  process.on("message", async ({ id, name, argument }: Request) => {
    try {
      const command = commands[name] as ((argument: unknown) => unknown) | undefined;
      if (command === undefined) throw new Error(`no command ${name}`);
      process.send?.({ id, result: await command(argument) } satisfies Response);
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once("disconnect", () => void close().finally(() => process.exit()));
}

/** CPU time of the calling process since its start, and its memory. */
export function ownUsage(): { readonly cpuMs: number; readonly memoryBytes: number } {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, memoryBytes: process.memoryUsage.rss() };
}
