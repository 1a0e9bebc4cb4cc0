import pino from "pino";
import pretty from "pino-pretty";
import type { Logger } from "../../base/log.ts";
import { type Environment, loadSettings } from "../../base/settings.ts";
import { LOG_SETTINGS } from "./log-settings.ts";

/**
 * Names of fields that the logger removes, up to two levels deep; it does not search texts. Code must not log secrets
 * in the first place; this is the second defence. Not `key`: reconcilers call the name of an object so.
 */
const SECRET_FIELDS = ["authorization", "token", "secret", "password", "credential", "kubeconfig", "apiKey"];

/** @throws ConfigError */
export function processLogger(component: string, env: Environment): Logger {
  const { level, format } = loadSettings(LOG_SETTINGS, env);
  const options = loggerOptions(component, level);
  if (format === "pretty" || (format === "auto" && process.stdout.isTTY)) {
    // In this process, not in a worker: a worker could lose the last lines before an exit.
    return pino(
      options,
      pretty({
        // Not by the environment alone: a CI system's would put colours into a file.
        colorize: process.stdout.isTTY === true && !env.NO_COLOR,
        sync: true,
        ignore: "component",
        messageFormat: "{component}: {msg}",
        translateTime: "SYS:HH:MM:ss.l",
      }),
    );
  }
  return pino(options, pino.destination({ dest: 1, sync: true }));
}

/** JSON into a file, for a part that runs inside another process. */
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
