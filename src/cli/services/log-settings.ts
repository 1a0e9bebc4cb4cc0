import { oneOf, type SettingsOf } from "../../base/settings.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
const FORMATS = ["auto", "json", "pretty"] as const;

interface LogConfig {
  readonly level: (typeof LEVELS)[number];
  readonly format: (typeof FORMATS)[number];
}

export const LOG_SETTINGS: SettingsOf<LogConfig> = {
  level: {
    env: "SALLYPORT_LOG_LEVEL",
    default: "info",
    doc: `Least severe line to print: ${LEVELS.join(", ")}.`,
    parse: oneOf(LEVELS),
  },
  format: {
    env: "SALLYPORT_LOG_FORMAT",
    default: "auto",
    doc: "json, a line an event, for collectors; pretty, for people; auto: pretty on a terminal, json elsewhere.",
    parse: oneOf(FORMATS),
  },
};
