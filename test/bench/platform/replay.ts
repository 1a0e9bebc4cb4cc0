import type { Statement } from "./recorded-sql.ts";

/** Where a statement's parameter comes from when the statement is sent again for another request. */
export type Blank =
  | { readonly from: "constant"; readonly value: unknown }
  | { readonly from: "id" | "name"; readonly template: string }
  | { readonly from: "now" }
  /** A new id; the same `which` within one request is the same id. */
  | { readonly from: "fresh"; readonly prefix: string; readonly which: string };

export interface ReplayStep {
  readonly text: string;
  readonly blanks: readonly Blank[];
}

/** Statements of one transaction, or, without `begin`, each by itself. */
interface ReplayPart {
  readonly begin?: string;
  readonly steps: readonly ReplayStep[];
}

/** All statements of one kind of request. */
export interface Replay {
  readonly method: "GET" | "POST" | "PATCH";
  /** With `:id` where the path carries one. */
  readonly url: string;
  readonly status: number;
  readonly isList: boolean;
  readonly parts: readonly ReplayPart[];
  /** The index of the statement whose rows are the answer. */
  readonly answer: number;
}

/** One request as it was sent while the driver was recorded. */
export interface Sample {
  readonly id: string;
  readonly name: string;
  readonly statements: readonly Statement[];
}

/**
 * Two requests of one kind that differ in their id and name: a parameter that also differs between their statements
 * comes from the request or the clock or is newly made; the others are the same for every request.
 *
 * @throws Error when the two sent different statements.
 */
export function replayOf(first: Sample, second: Sample): Pick<Replay, "parts" | "answer"> {
  if (first.statements.length !== second.statements.length) throw new Error("two requests of a kind, not the same SQL");
  const parts: { begin?: string; steps: ReplayStep[] }[] = [{ steps: [] }];
  let answer = 0;
  let count = 0;
  first.statements.forEach(({ text, values }, index) => {
    const other = second.statements[index];
    if (other?.text !== text) throw new Error(`not the same SQL: ${text} / ${other?.text}`);
    if (/^(begin|start transaction)/i.test(text)) parts.push({ begin: text, steps: [] });
    else if (/^commit/i.test(text)) parts.push({ steps: [] });
    else {
      const blanks = values.map((value, at) => blankOf(value, other.values[at], first, second));
      parts.at(-1)?.steps.push({ text, blanks });
      // The statement that reads or writes the object itself asks for its whole row; the last such one answers.
      if (/\.\*|select \*|returning \*/i.test(text) && !text.includes("api_keys")) answer = count;
      count += 1;
    }
  });
  return { parts: parts.filter(({ steps }) => steps.length > 0), answer };
}

function blankOf(one: unknown, two: unknown, first: Sample, second: Sample): Blank {
  if (one instanceof Date) return { from: "now" };
  if (typeof one !== "string" || typeof two !== "string" || one === two) return { from: "constant", value: one };
  for (const from of ["id", "name"] as const) {
    if (first[from] !== "" && one.replace(first[from], second[from]) === two) {
      return { from, template: one.replace(first[from], "{}") };
    }
  }
  const prefix = /^[a-z]+_(?=[0-9a-zA-Z]{28}$)/.exec(one)?.[0];
  if (prefix !== undefined) return { from: "fresh", prefix, which: one };
  throw new Error(`cannot say where ${one} comes from`);
}
