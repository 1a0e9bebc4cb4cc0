import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../cluster/ports.ts";
import { Program } from "../cluster/program.ts";
import { Watchdog } from "../cluster/watchdog.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

/** `sallyport platform` as its own process: what a test of the whole thing talks to, kills and starts again. */
export interface PlatformProcess {
  readonly url: string;
  /** `data` in it is the embedded database's folder. */
  readonly folder: string;
  readonly program: Program;
  /** The key that the first start on an empty folder made. */
  firstKey(): Promise<string>;
}

export interface PlatformProcessOptions {
  /** Exists; its owner removes it. */
  readonly folder: string;
  /** Settings, such as a database URL. Without one: the embedded database in the folder. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Not started yet. Ends with `stack`, and with this process, however that ends. */
export async function platformProcess(
  { folder, env = {} }: PlatformProcessOptions,
  stack: AsyncDisposableStack,
): Promise<PlatformProcess> {
  await mkdir(folder, { recursive: true });
  const watchdog = new Watchdog();
  stack.defer(() => watchdog.done());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const data = join(folder, "data");
  const program = new Program({
    name: "platform",
    path: process.execPath,
    args: [MAIN, "platform"],
    env: {
      PATH: process.env.PATH ?? "",
      SALLYPORT_PLATFORM_DATA: data,
      SALLYPORT_PLATFORM_PORT: String(port),
      SALLYPORT_PLATFORM_RATE_LIMITS: "off",
      SALLYPORT_LOG_LEVEL: "warn",
      ...env,
    },
    logFile: join(folder, "platform.log"),
    watchdog,
    isReady: async (signal) => {
      try {
        return (await fetch(`${url}/readyz`, { signal })).ok;
      } catch {
        signal.throwIfAborted();
        return false;
      }
    },
  });
  stack.defer(() => program.stop(10_000));
  return {
    url,
    folder,
    program,
    firstKey: async () => (await readFile(join(data, "first-admin-key"), "utf8")).trim(),
  };
}
