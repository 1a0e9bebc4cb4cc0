import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Budget } from "../../../src/platform/kernel/budgets/budget-kinds.ts";
import { BUDGETS } from "../../../src/platform/kernel/budgets/budget-table.ts";

const BEGIN = "<!-- Made by `npm run generate` from src/platform/kernel/budgets/budget-table.ts: -->";
const END = "<!-- end of the budgets -->";

const ANSWERS: Readonly<Record<Budget["code"], string>> = {
  VALIDATION_ERROR: "400 `VALIDATION_ERROR`",
  BUDGET_EXCEEDED: "400 `BUDGET_EXCEEDED`",
  RATE_LIMITED: "429 `RATE_LIMITED`",
};

function table(): string {
  const rows = Object.entries<Budget>(BUDGETS).map(([name, { what, tenant, size, code, drops }]) => {
    const answer = drops === true ? "left out, counted" : ANSWERS[code];
    return `| \`${name}\` | ${size} | ${what} | ${tenant} | ${answer} |`;
  });
  return ["| Budget | Size | Of | Tenant | Beyond it |", "|---|---|---|---|---|", ...rows].join("\n");
}

/** docs/platform.md with the table of all budgets in its place. */
export function platformPage(root: string): string {
  const page = readFileSync(join(root, "docs/platform.md"), "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`docs/platform.md has lost the line ${BEGIN} or ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${table()}\n\n${page.slice(end)}`;
}
