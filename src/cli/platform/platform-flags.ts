import { type ParseArgsConfig, parseArgs } from "node:util";
import { RefusedError } from "../../platform/administration/refused-error.ts";
import { FolderInUseError } from "../../platform/database/folder-lock.ts";
import type { DatabaseLocation } from "../../platform/database/open.ts";
import { PLATFORM_SETTINGS, readDatabaseLocation } from "../../platform/platform-config.ts";
import { FriendlyError } from "../kernel/command.ts";
import { readSettings } from "../kernel/settings.ts";
import { LOG_SETTINGS } from "../services/log-settings.ts";
import { parsed, type SettingFlag } from "../services/service-command.ts";

const { databaseUrl, data, host, port } = PLATFORM_SETTINGS;

/** The flags that name the database, for the server and for its own commands. */
export const DATABASE_FLAGS: readonly SettingFlag[] = [
  { flag: "data", value: "DIR", env: data.env },
  { flag: "database", value: "URL", env: databaseUrl.env },
];

export const SERVER_FLAGS: readonly SettingFlag[] = [
  ...DATABASE_FLAGS,
  { flag: "host", value: "ADDRESS", env: host.env },
  { flag: "port", value: "N", env: port.env },
];

type Options = NonNullable<ParseArgsConfig["options"]>;

export interface DatabaseArguments {
  readonly location: DatabaseLocation;
  readonly positionals: readonly string[];
  /** Flags of the command itself; one without a value is empty text when it is given. */
  readonly values: Readonly<Record<string, string | undefined>>;
}

export interface OwnFlag {
  readonly flag: string;
  /** The placeholder for its value in help texts. Absent: the flag takes no value. */
  readonly value?: string;
}

/** Parses a command that works on the database. @throws UsageError, FriendlyError */
export async function databaseArguments(
  name: string,
  args: readonly string[],
  own: readonly OwnFlag[],
): Promise<DatabaseArguments> {
  const flags = [{ flag: "config", value: "FILE" }, ...DATABASE_FLAGS, ...own];
  const options: Options = Object.fromEntries(
    flags.map(({ flag, value }) => [flag, { type: value === undefined ? "boolean" : "string" }]),
  );
  options.output = { type: "string", short: "o" };
  const { values, positionals } = parsed(name, () => parseArgs({ args: [...args], options, allowPositionals: true }));
  const texts = Object.fromEntries(
    Object.entries(values).map(([flag, value]) => [flag, value === true ? "" : String(value)]),
  );
  const given = DATABASE_FLAGS.flatMap(({ flag, env }) => (texts[flag] === undefined ? [] : [[env, texts[flag]]]));
  const env = { ...process.env, ...Object.fromEntries(given) };
  const settings = await readSettings(texts.config, env, [PLATFORM_SETTINGS, LOG_SETTINGS]);
  return { location: await inWords(async () => readDatabaseLocation(settings)), positionals, values: texts };
}

/** What the platform refuses is printed without a stack trace. */
export async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const known = [RefusedError, FolderInUseError].some((kind) => error instanceof kind);
    if (known && error instanceof Error) throw new FriendlyError(error.message, { cause: error });
    throw error;
  }
}
