/** Where a process reads its settings: the environment, or a file laid under it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One row of a process's table: `--help`, the chart's values and docs/configuration.md are printed from it. */
export interface SettingRow {
  readonly env: string;
  /** As a person would write it, and parsed like theirs. `undefined`: must be set. */
  readonly default: string | undefined;
  /** Meaning, and what changes when it is raised or lowered. */
  readonly doc: string;
}

export type SettingTable = Readonly<Record<string, SettingRow>>;

export interface Setting<T> extends SettingRow {
  /** Throws an Error whose message completes "ENV must be …". */
  readonly parse: (text: string) => T;
}

/** A table that gives a value to each field of `Config`. */
export type SettingsOf<Config> = { readonly [Name in keyof Config]: Setting<Config[Name]> };

/** Two settings that are good alone and bad together. `must` completes "ENV must …". */
export interface Contradiction<Config> {
  readonly setting: keyof Config;
  readonly must: string;
}

/** All bad settings of one process at once, so that a start does not fail once a setting. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(`bad configuration:\n  ${problems.join("\n  ")}`, options);
  }
}

/** What is set, or the default. An empty value is an unset one: Helm renders it so. */
export function settingText<R extends SettingRow>(row: R, env: Environment): string | R["default"] {
  return env[row.env]?.trim() || row.default;
}

/** Reads each setting of `table`. @throws ConfigError */
export function loadSettings<Config extends object>(
  table: SettingsOf<Config>,
  env: Environment,
  contradictions: (config: Config) => readonly Contradiction<Config>[] = () => [],
): Readonly<Config> {
  const problems: string[] = [];
  const entries = Object.entries<Setting<unknown>>(table).map(([name, setting]) => {
    try {
      const text = settingText(setting, env);
      if (text === undefined) throw new Error("set");
      return [name, setting.parse(text)];
    } catch (error) {
      problems.push(`${setting.env} must be ${error instanceof Error ? error.message : String(error)}`);
      return [name, undefined];
    }
  });
  if (problems.length > 0) throw new ConfigError(problems);
  // Each entry was parsed by the setting of that name, which the table's type ties to the field's.
  const config: Config = Object.fromEntries(entries);
  const found = contradictions(config).map(({ setting, must }) => `${table[setting].env} must ${must}`);
  if (found.length > 0) throw new ConfigError(found);
  return Object.freeze(config);
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * `250ms`, `30s`, `5m`, `12h`, `30d` in milliseconds; undefined for all else. A bare number is refused: its unit would
 * be a guess. Seven digits at most, so that no date counted from it overflows.
 */
export function durationMs(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,7})(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

export function duration(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const ms = durationMs(text);
    if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
    throw new Error(`a duration such as 30s, from ${minMs} to ${maxMs} ms`);
  };
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new Error(`a whole number from ${min} to ${max}`);
  };
}

export function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`one of ${words.join(", ")}, not ${text}`);
    return found;
  };
}

export function truth(text: string): boolean {
  return oneOf(["true", "false"])(text) === "true";
}

/** @param words what the text must be, such as "the name of a namespace" */
export function matching(form: RegExp, words: string): (text: string) => string {
  return (text) => {
    if (!form.test(text)) throw new Error(words);
    return text;
  };
}

export function anyText(text: string): string {
  return text;
}

export function nonEmpty(text: string): string {
  if (text === "") throw new Error("set");
  return text;
}
