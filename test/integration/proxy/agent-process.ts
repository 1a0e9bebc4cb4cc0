import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

/** One line of the agent's log. */
export interface Line {
  readonly level: number | string;
  readonly msg?: string;
  readonly fix?: string;
  readonly reason?: string;
}

/** The agent in its own process: the CA file and the proxy variables count only from a process's start. */
export class AgentProcess {
  readonly lines: Line[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  text = "";

  constructor(env: Readonly<Record<string, string>>) {
    const main = join(import.meta.dirname, "..", "..", "..", "src", "cli", "main.ts");
    const own = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", SALLYPORT_LOG_FORMAT: "json" };
    this.#process = spawn(process.execPath, [main, "agent"], {
      env: { ...own, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#ended = new Promise((resolve) => this.#process.once("exit", resolve));
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
    }
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  async stop(): Promise<void> {
    if (this.isRunning) this.#process.kill("SIGTERM");
    await this.#ended;
  }

  #rest = "";

  #read(chunk: string): void {
    this.text += chunk;
    const parts = (this.#rest + chunk).split("\n");
    this.#rest = parts.pop() ?? "";
    for (const part of parts) {
      if (part.startsWith("{")) this.lines.push(JSON.parse(part) as Line);
    }
  }
}
