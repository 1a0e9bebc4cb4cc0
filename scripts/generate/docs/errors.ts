import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS, type ErrorSpec } from "../../../src/contract/wire/errors.ts";

const PAGE = "docs/api-rules/26-errors.md";
const BEGIN = "<!-- Made by `npm run generate` from src/contract/wire/errors.ts: -->";
const END = "<!-- end of the codes -->";

/** Escapes `<name>`, which a renderer would read as HTML. */
function cell(text: string): string {
  return text.replaceAll("<", "&lt;").replaceAll("|", "\\|");
}

function table(): string {
  const rows = Object.entries<ErrorSpec>(ERRORS).map(
    ([code, { status, retryable, message, hint }]) =>
      `| ${code} | ${status} | ${retryable ? "yes" : "no"} | ${cell(message)} | ${cell(hint ?? "–")} |`,
  );
  return ["| Code | Status | Retryable | When | What to do |", "|---|---|---|---|---|", ...rows].join("\n");
}

/** docs/api-rules/26-errors.md with the table of all codes in its place. */
export function errorsPage(root: string): string {
  const page = readFileSync(join(root, PAGE), "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has lost the line ${BEGIN} or ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${table()}\n\n${page.slice(end)}`;
}
