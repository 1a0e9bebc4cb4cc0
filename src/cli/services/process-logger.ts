import pino from "pino";
import pretty from "pino-pretty";
import type { Logger } from "../../base/log.ts";
import { FriendlyError } from "../command.ts";
import type { Environment, SettingTable } from "../settings.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const FORMATS = ["auto", "json", "pretty"] as const;

export const LOG_SETTINGS = {
  logLevel: { env: "SALLYPORT_LOG_LEVEL", default: "info", doc: `Least severe line to print: ${LEVELS.join(", ")}.` },
  logFormat: {
    env: "SALLYPORT_LOG_FORMAT",
    default: "auto",
    doc: "json, a line an event, for collectors; pretty, for people; auto: pretty on a terminal, json elsewhere.",
  },
} as const satisfies SettingTable;

/**
 * Fields that never leave the process, whoever logs them. A net under the rule that nobody logs them: names of fields,
 * up to two levels deep, not a search in texts. Not `key`: that is a reconciler's word for the name of an object.
 */
const SECRET_FIELDS = ["authorization", "token", "secret", "password", "credential", "kubeconfig", "apiKey"];

/** @throws FriendlyError for a level or a format that does not exist. */
export function processLogger(component: string, env: Environment): Logger {
  const options = loggerOptions(component, oneOf(LOG_SETTINGS.logLevel, LEVELS, env));
  const format = oneOf(LOG_SETTINGS.logFormat, FORMATS, env);
  if (format === "pretty" || (format === "auto" && process.stdout.isTTY)) {
    // In this process, not in a worker: the last lines before an exit must come out.
    return pino(
      options,
      pretty({ sync: true, ignore: "component", messageFormat: "{component}: {msg}", translateTime: "SYS:HH:MM:ss.l" }),
    );
  }
  return pino(options, pino.destination({ dest: 1, sync: true }));
}

/** JSON into a file: for a part that runs inside of another process. */
export function fileLogger(component: string, file: string): Logger {
  return pino(loggerOptions(component, "info"), pino.destination({ dest: file, sync: true }));
}

function loggerOptions(component: string, level: string): pino.LoggerOptions {
  return {
    level,
    base: { component },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: "[redacted]" },
  };
}

function oneOf<T extends string>(row: SettingTable[string], allowed: readonly T[], env: Environment): T {
  const text = env[row.env]?.trim() || row.default;
  const found = allowed.find((word) => word === text);
  if (found === undefined) throw new FriendlyError(`${row.env} must be one of ${allowed.join(", ")}, not ${text}`);
  return found;
}
