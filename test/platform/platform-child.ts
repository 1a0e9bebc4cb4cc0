import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../lab/cluster/ports.ts";
import { Program } from "../../lab/cluster/program.ts";
import { Watchdog } from "../../lab/cluster/watchdog.ts";

/** As a person starts it: with what it has compiled before, which is 40 % of a start. */
const MAIN = join(import.meta.dirname, "..", "..", "bin", "sallyport.mjs");

const run = promisify(execFile);
const WORKSPACE = "default";

/** `sallyport platform` in its own process, which a test of the whole product calls, kills and starts again. */
export interface PlatformProcess {
  readonly url: string;
  /** `data` in it is the embedded database's folder. */
  readonly folder: string;
  readonly program: Program;
  /**
   * A workspace.admin's key. With a folder, the first start has written it there; with another database the command
   * line makes it, because a start without a terminal makes none.
   */
  firstKey(): Promise<string>;
}

export interface PlatformProcessOptions {
  /** Must exist; its owner removes it. */
  readonly folder: string;
  /** Settings, such as a database URL. Default: the embedded database in the folder. */
  readonly env?: Readonly<Record<string, string>>;
  /** Others on its database reach it. */
  readonly isPeer?: boolean;
}

/** Does not start it. It ends with `stack`, and with this process, however this process ends. */
export async function platformProcess(
  { folder, env = {}, isPeer = false }: PlatformProcessOptions,
  stack: AsyncDisposableStack,
): Promise<PlatformProcess> {
  await mkdir(folder, { recursive: true });
  const watchdog = new Watchdog();
  stack.defer(() => watchdog.done());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const data = join(folder, "data");
  const settings = { PATH: process.env.PATH ?? "", SALLYPORT_PLATFORM_DATA: data, ...env };
  const command = async (...args: string[]): Promise<string> =>
    (await run(process.execPath, [MAIN, "platform", ...args], { env: settings })).stdout;
  const program = new Program({
    name: "platform",
    path: process.execPath,
    args: [MAIN, "platform"],
    env: {
      ...settings,
      SALLYPORT_PLATFORM_PORT: String(port),
      ...(isPeer && { SALLYPORT_PLATFORM_PEER_URL: url }),
      SALLYPORT_PLATFORM_RATE_LIMITS: "off",
      SALLYPORT_LOG_LEVEL: "warn",
    },
    logFile: join(folder, "platform.log"),
    watchdog,
    // The first start in an empty folder takes seconds of one core; beside other work more than a minute was seen.
    readyTimeoutMs: 180_000,
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
    async firstKey() {
      if (env.SALLYPORT_PLATFORM_DATABASE_URL === undefined)
        return (await readFile(join(data, "first-admin-key"), "utf8")).trim();
      await command("workspaces", "create", WORKSPACE);
      return (await command("keys", "create", "--workspace", WORKSPACE, "--role", "workspace.admin")).trim();
    },
  };
}
