import { isRecord } from "../../base/is-record.ts";
import { UsageError } from "./command.ts";

const FORMATS = ["table", "json", "yaml"] as const;
export type Format = (typeof FORMATS)[number];

export function formatOf(text: string | undefined): Format {
  const found = FORMATS.find((format) => format === (text ?? "table"));
  if (found === undefined) throw new UsageError(`-o is one of ${FORMATS.join(", ")}, not ${text}`);
  return found;
}

/**
 * A value as text, with a line break at its end. Text from elsewhere cannot control the terminal: control, format and
 * private-use characters are shown as their code.
 */
export async function render(value: unknown, format: Format): Promise<string> {
  switch (format) {
    case "json":
      return `${escaped(JSON.stringify(value, undefined, 2), "\n")}\n`;
    case "yaml": {
      // Loaded for it alone: it is a tenth of what a short command would load.
      return yamlOf(await import("yaml"), value);
    }
    case "table":
      return tableOf(value);
  }
}

/** {@link render} as a table. */
export function tableOf(value: unknown): string {
  return Array.isArray(value) ? rowsTable(value) : pairsTable(value);
}

/**
 * @param allowed characters that may stay, such as a line break
 * @param written for each other one; by default its UTF-16 units, as JSON writes a character beyond U+FFFF
 */
export function escaped(text: string, allowed: string, written = units): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, (character) =>
    allowed.includes(character) ? character : written(character),
  );
}

/** Words for standard error, whoever they came from: they cannot steer the terminal. */
export function sayable(text: string): string {
  return escaped(text, "\n\t");
}

/** Each text that is written with escapes stands in quotes, in which a reader of YAML takes them back. */
function yamlOf({ Document, visit }: typeof import("yaml"), value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      if (typeof scalar.value === "string" && escaped(scalar.value, "\n") !== scalar.value)
        scalar.type = "QUOTE_DOUBLE";
    },
  });
  const text = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  return escaped(text, "\n", (character) => `\\U${codeOf(character, 8)}`);
}

/** Lines for people: a line break in one of them is shown as its code, so that no text from elsewhere makes a line. */
export function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${escaped(line, "")}\n`).join("");
}

function units(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${codeOf(unit, 4)}`)
    .join("");
}

function codeOf(character: string, digits: number): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(digits, "0");
}

/** The most useful fields come first, the others in their own order. */
const FIRST = [
  ...["id", "name", "workspace", "title", "status", "state", "role", "type", "platform"],
  ...["managerId", "waitsFor", "deploymentGroupId", "shared", "risk", "enabled"],
];
const LAST = ["createdAt"];
/** More columns than this do not fit a terminal; `-o json` has them all. */
const MAX_COLUMNS = 7;

function rowsTable(rows: readonly unknown[]): string {
  if (rows.length === 0) return "(none)\n";
  const records = rows.map((row) => (isRecord(row) ? row : { value: row }));
  return new Table(columnsOf(records)).lines(records);
}

/** A name or message from elsewhere must not push the other columns out of sight; `-o json` has all of it. */
const MAX_CELL = 120;
const MAX_LAST_CELL = 512;

/** Rows below the names of their columns. Those that come later stand below the same columns. */
export class Table {
  readonly #names: readonly string[];
  #widths: readonly number[] | undefined;

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** The columns' names too, the first time; "" when there is nothing to show. */
  lines(records: readonly Readonly<Record<string, unknown>>[]): string {
    if (records.length === 0) return "";
    const heads = this.#names.map((name) => name.replace(/[A-Z]/g, (letter) => `-${letter}`).toUpperCase());
    const rows = records.map((record) => this.#names.map((name, at) => this.#short(cell(record[name]), at)));
    const lines = plain(this.#widths === undefined ? [heads, ...rows] : rows);
    this.#widths ??= widthsOf(lines);
    return aligned(lines, this.#widths);
  }

  #short(text: string, at: number): string {
    const most = at === this.#names.length - 1 ? MAX_LAST_CELL : MAX_CELL;
    if (text.length <= most) return text;
    const cut = text.slice(0, most - 1);
    return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
  }
}

function columnsOf(records: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  // A column that is empty or the same in every row is left out.
  const telling = names.filter(
    (name) => name !== "workspaceId" && records.some((record) => record[name] != null && isScalar(record[name])),
  );
  const rank = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : LAST.includes(name) ? 99 : 50);
  const sorted = telling.sort((a, b) => rank(a) - rank(b));
  const kept = sorted.filter((name) => !LAST.includes(name)).slice(0, MAX_COLUMNS - 1);
  return [...kept, ...sorted.filter((name) => LAST.includes(name))];
}

function pairsTable(value: unknown): string {
  if (!isRecord(value)) return `${cell(value)}\n`;
  const lines = plain(Object.entries(value).map(([name, field]) => [name, cell(field)]));
  return aligned(lines, widthsOf(lines));
}

/** A short form of a structure for a cell; `-o json` has the whole. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return escaped(value.replace(/\.\d{3}Z$/, "Z"), "");
  if (Array.isArray(value) && value.every(isScalar)) return value.map(cell).join(",");
  return escaped(JSON.stringify(value), "");
}

/** Names of fields come from elsewhere as their values do. */
function plain(lines: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return lines.map((line) => line.map((part) => escaped(part, "")));
}

function widthsOf(lines: readonly (readonly string[])[]): readonly number[] {
  return (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
}

function aligned(lines: readonly (readonly string[])[], widths: readonly number[]): string {
  const text = lines.map((line) =>
    line
      .map((part, column) => part.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return `${text.join("\n")}\n`;
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value !== "object";
}
