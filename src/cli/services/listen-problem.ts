import { type Environment, type SettingTable, settingText } from "../../base/settings.ts";
import { FriendlyError } from "../kernel/command.ts";

/** A setting that names a port to listen on, and how the command line writes it. */
export interface PortSetting {
  readonly env: string;
  readonly flag?: string;
}

/**
 * The text for a process that cannot listen: which port, how to find the program that holds it, and the flag or setting
 * of our port. Undefined for every other error, which keeps its stack trace.
 */
export function listenProblem(
  error: unknown,
  ports: readonly PortSetting[],
  env: Environment,
  settings: SettingTable,
): FriendlyError | undefined {
  if (!isListenError(error)) return undefined;
  const { address, port } = error;
  const place = address === undefined ? `port ${port}` : `port ${port} of ${address}`;
  const named = ports.filter((setting) => textOf(setting.env, env, settings) === String(port));
  const problem = PROBLEMS[error.code]?.(place, port, named);
  if (problem === undefined) return undefined;
  return new FriendlyError(problem, { cause: error });
}

const PROBLEMS: Readonly<Record<string, (place: string, port: number, named: readonly PortSetting[]) => string>> = {
  EADDRINUSE: (place, port, named) => {
    const [first, second] = named;
    if (first !== undefined && second !== undefined) {
      return `${place} is named by two settings, ${first.env} and ${second.env}: give one of them another port`;
    }
    return [
      `${place} is in use by another process`,
      `  which one:    ss -ltnp 'sport = :${port}'    or    lsof -nP -iTCP:${port} -sTCP:LISTEN`,
      `  another port: ${waysToSet(named)}`,
    ].join("\n");
  },
  EACCES: (place, _port, named) =>
    `this process may not listen on ${place}: ports below 1024 are the system's\n  another port: ${waysToSet(named)}`,
  EADDRNOTAVAIL: (place) => `${place} cannot be listened on: this machine does not have that address`,
};

function waysToSet(named: readonly PortSetting[]): string {
  const [setting] = named;
  if (setting === undefined) return "see the settings of --help";
  return setting.flag === undefined ? `set ${setting.env}` : `--${setting.flag} N, or set ${setting.env}`;
}

function textOf(name: string, env: Environment, settings: SettingTable): string | undefined {
  const row = Object.values(settings).find((each) => each.env === name);
  return row === undefined ? env[name]?.trim() || undefined : settingText(row, env);
}

/** Node's `net` raises it so. Errors of connections have the same codes and another `syscall`. */
function isListenError(error: unknown): error is Error & { code: string; port: number; address?: string } {
  if (!(error instanceof Error)) return false;
  const { syscall, code, port } = error as { syscall?: unknown; code?: unknown; port?: unknown };
  return syscall === "listen" && typeof code === "string" && typeof port === "number";
}
