import { isRecord } from "../../base/is-record.ts";
import type { Environment, SettingTable } from "../../base/settings.ts";
import { FriendlyError } from "./command.ts";
import { givenDocument, givenText } from "./given/given-file.ts";

/**
 * The settings of a process: the environment, then a YAML file whose keys are the same names. A setting has one name
 * everywhere, so that a search finds it.
 *
 * @throws FriendlyError for a key that no table has: otherwise a misspelt setting would silently have its default.
 */
export async function readSettings(
  file: string | undefined,
  env: Environment,
  tables: readonly SettingTable[],
): Promise<Environment> {
  if (file === undefined) return env;
  const known = new Set(tables.flatMap((table) => Object.values(table).map((row) => row.env)));
  const problems: string[] = [];
  const fromFile: Record<string, string> = {};
  const { settings, textOf } = await mappingOf(file);
  for (const [key, value] of Object.entries(settings)) {
    if (!known.has(key)) problems.push(`${key} is not a setting`);
    else if (typeof value === "object" && value !== null) problems.push(`${key} must be one value`);
    else if (value !== null) fromFile[key] = textOf(key) ?? String(value);
  }
  if (problems.length > 0) throw new FriendlyError(`${file}:\n  ${problems.join("\n  ")}`);
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== "");
  return { ...fromFile, ...Object.fromEntries(set) };
}

interface Mapping {
  readonly settings: object;
  /** As it is written: the environment has texts too, and YAML reads 0755 as 493. */
  textOf(key: string): string | undefined;
}

async function mappingOf(file: string): Promise<Mapping> {
  const found = await givenDocument(file, await givenText(file));
  const settings = found?.value ?? {};
  if (isRecord(settings)) return { settings, textOf: (key) => found?.textAt([key]) };
  throw new FriendlyError(`${file} must hold lines such as SALLYPORT_LOG_LEVEL: debug`);
}

/** The tables as `--help` prints them: name, default, then what it means, wrapped. */
export function describeSettings(tables: readonly SettingTable[], width = 100): string {
  const rows = tables.flatMap((table) => Object.values(table));
  return rows
    .map(({ env, default: value, doc }) => {
      const head = `  ${env}  ${value === undefined ? "(must be set)" : value === "" ? "(default: none)" : `(default: ${value})`}`;
      return [head, ...wrap(doc, width - 6).map((line) => `      ${line}`)].join("\n");
    })
    .join("\n");
}

export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return line === "" ? lines : [...lines, line];
}
