import { join } from "node:path";
import { Program } from "./cluster/program.ts";
import type { Watchdog } from "./cluster/watchdog.ts";

/** As a person starts it: with what it has compiled before, which is 40 % of a start. */
const MAIN = join(import.meta.dirname, "../bin/sallyport.mjs");

export interface ProductProcessOptions {
  readonly kind: "agent" | "operator" | "platform" | "tunnel" | "machine-controller" | "join";
  /** @default the kind */
  readonly name?: string;
  /** The folder for its log file, which has the process's name. */
  readonly logs: string;
  /** The port on which it reports whether it is ready. */
  readonly port: number;
  readonly watchdog: Watchdog;
  readonly env: Readonly<Record<string, string>>;
}

/** One process of the product, with an environment that holds its own credentials and no others. Not started yet. */
export function productProcess({ kind, name = kind, logs, port, watchdog, env }: ProductProcessOptions): Program {
  return new Program({
    name,
    path: process.execPath,
    args: [MAIN, kind],
    logFile: join(logs, `${name}.log`),
    watchdog,
    env: {
      PATH: process.env.PATH ?? "",
      SALLYPORT_LOG_FORMAT: "json",
      SALLYPORT_HEALTH_HOST: "127.0.0.1",
      SALLYPORT_HEALTH_PORT: String(port),
      ...env,
    },
    isReady: (signal) => isReady(port, signal),
  });
}

async function isReady(port: number, signal: AbortSignal): Promise<boolean> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(2_000)]);
    return (await fetch(`http://127.0.0.1:${port}/readyz`, { signal: limit })).ok;
  } catch {
    return false; // Not listening yet.
  }
}
