import { printable } from "../../crds/printable.ts";
import type { OperationResult } from "../operations/operation.ts";

/** What the admission policy `sallyport-result-size` lets into `status.result`, in its own way of counting. */
export const MAX_RESULT_CHARS = 65_536;

/** Below the limit: the policy prints numbers as it likes (`1.0` as `1.000000`), and we only estimate that. */
const BUDGET_CHARS = 60_000;

/** Top-level keys that the CRD accepts, less the one that says something was cut. */
const MAX_KEYS = 63;

/**
 * A result as it may be stored: every text printable and redacted, and all of it within the size that the API server
 * accepts. What does not fit is left out from the end, and `truncated: true` says so.
 */
export function boundedResult(result: OperationResult, redact: (text: string) => string): OperationResult {
  const budget = { left: BUDGET_CHARS, cut: false };
  const keys = Object.keys(result);
  const kept = Object.fromEntries(keys.slice(0, MAX_KEYS).map((key) => [key, result[key]]));
  const value = fitted(kept, budget, redact);
  const cut = budget.cut || keys.length > MAX_KEYS;
  return { ...(isObject(value) ? value : {}), ...(cut && { truncated: true }) };
}

interface Budget {
  left: number;
  cut: boolean;
}

function fitted(value: unknown, budget: Budget, redact: (text: string) => string): unknown {
  if (typeof value === "string") return fittedText(value, budget, redact);
  if (Array.isArray(value)) return fittedList(value, budget, redact);
  if (isObject(value)) return fittedObject(value, budget, redact);
  // `%f` of a double has six decimals; of anything else less than this.
  budget.left -= 24;
  if (typeof value === "boolean") return value;
  // As JSON will have it: no -0, no NaN.
  return typeof value === "number" && Number.isFinite(value) ? value + 0 : null;
}

function fittedText(value: string, budget: Budget, redact: (text: string) => string): string {
  const clean = redact(printable(value, Math.min(value.length, BUDGET_CHARS)));
  const room = Math.max(budget.left - 2, 0);
  // Quoted, as the policy counts it: a log full of quotes and line breaks is twice as long there.
  let text = clean.slice(0, room);
  while (JSON.stringify(text).length - 2 > room) text = text.slice(0, Math.floor(text.length * 0.9)).toWellFormed();
  if (text.length < value.length && text.length < clean.length) budget.cut = true;
  budget.left -= JSON.stringify(text).length;
  return text;
}

function fittedList(list: readonly unknown[], budget: Budget, redact: (text: string) => string): unknown[] {
  const kept: unknown[] = [];
  budget.left -= 2;
  for (const entry of list) {
    if (budget.left <= 0) {
      budget.cut = true;
      break;
    }
    kept.push(fitted(entry, budget, redact));
    budget.left -= 2;
  }
  return kept;
}

function fittedObject(value: object, budget: Budget, redact: (text: string) => string): object {
  const kept: Record<string, unknown> = {};
  budget.left -= 2;
  for (const [key, entry] of Object.entries(value)) {
    if (entry === undefined) continue;
    if (budget.left <= 0) {
      budget.cut = true;
      break;
    }
    const name = redact(printable(key, 256));
    budget.left -= JSON.stringify(name).length + 4;
    // Two names may read alike once they are redacted: one value is lost then.
    if (Object.hasOwn(kept, name)) budget.cut = true;
    kept[name] = fitted(entry, budget, redact);
  }
  return kept;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
