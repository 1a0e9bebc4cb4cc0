import { escaped } from "../../kernel/output.ts";
import type { FieldDifference } from "./field-differences.ts";
import type { Change } from "./release-differences.ts";

/** More fields are not read line by line; `-o json` has all of them. */
const MAX_FIELDS = 500;
const MAX_FIELDS_OF_ONE = 40;
const MAX_PATH = 200;
const MAX_VALUE = 100;
/** Of two long texts, how much is shown before the first place in which they differ. */
const SHARED = 20;
const SIGNS = { added: "+", changed: "~", removed: "-" } as const;

/** The changes for a person: a line for each thing, and below it one for each field. Nothing for no change. */
export function differencesText(changes: readonly Change[]): string {
  let left = MAX_FIELDS;
  return changes
    .map(({ change, what, effect, fields }) => {
      const shown = fields.slice(0, Math.min(left, MAX_FIELDS_OF_ONE));
      left -= shown.length;
      const more = fields.length - shown.length;
      return [
        `${SIGNS[change]} ${escaped(what, "")}${effect === undefined ? "" : `: ${effect}`}`,
        ...shown.map((field) => `    ${lineOf(field)}`),
        ...(more === 0 ? [] : [`    and ${more} more: -o json`]),
      ]
        .map((line) => `${line}\n`)
        .join("");
    })
    .join("");
}

/** `2 added, 1 changed`, or that there is none. */
export function countsText(changes: readonly Change[]): string {
  const words = (["added", "changed", "removed"] as const).flatMap((change) => {
    const count = changes.filter((each) => each.change === change).length;
    return count === 0 ? [] : [`${count} ${change}`];
  });
  return words.join(", ") || "no difference";
}

function lineOf(field: FieldDifference): string {
  const [before, after] = ["before", "after"].map((side) =>
    Object.hasOwn(field, side) ? JSON.stringify(field[side as "before" | "after"]) : "(none)",
  ) as [string, string];
  const from = before.length > MAX_VALUE && after.length > MAX_VALUE ? sharedStart(before, after) - SHARED : 0;
  return escaped(`${short(field.path, 0, MAX_PATH)}: ${short(before, from)} → ${short(after, from)}`, "");
}

function sharedStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

function short(text: string, from: number, most = MAX_VALUE): string {
  const start = Math.max(from, 0);
  const cut = text.slice(start, start + most).toWellFormed();
  return `${start > 0 ? "…" : ""}${cut}${start + most < text.length ? "…" : ""}`;
}
