/** Deeper than any manifest: recursions over it must end. */
const MAX_DEPTH = 64;
const MAX_PATH = 256;
/** More of them say nothing new. */
const MAX_PROBLEMS = 50;

/**
 * Control characters but line breaks and tabs, and those that turn the direction of text: by them a terminal shows another
 * object than the one that is applied. Characters that join letters, show nothing or are for private use stay: texts of many
 * languages, icons and files of Windows have them.
 */
const DECEIVING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this finds.
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)|\p{Cs}/u;

export interface DataProblem {
  /** Names and indexes from the value on. */
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * Why a value must not become a part of an object in a cluster: a person would read another text than is stored, or readers of JSON
 * would not keep it as it is. The one judge of this, so that who makes a release hears what the customer's cluster would say.
 */
export function dataProblems(value: unknown): readonly DataProblem[] {
  const waiting: { readonly path: readonly string[]; readonly node: unknown }[] = [{ path: [], node: value }];
  const problems: DataProblem[] = [];
  for (let next = waiting.pop(); next !== undefined && problems.length < MAX_PROBLEMS; next = waiting.pop()) {
    const { path, node } = next;
    if (path.length > MAX_DEPTH) problems.push({ path, message: `is nested more than ${MAX_DEPTH} deep` });
    else if (typeof node === "object" && node !== null) {
      for (const [key, entry] of Object.entries(node).toReversed()) {
        const deceiving = deceivingIn(key);
        // A name that cannot be shown is not shown here either.
        if (deceiving === undefined) waiting.push({ path: [...path, key.slice(0, MAX_PATH)], node: entry });
        else problems.push({ path, message: `has a name with ${deceiving}` });
      }
    } else {
      const problem = typeof node === "string" ? textProblem(node) : numberProblem(node);
      if (problem !== undefined) problems.push({ path, message: problem });
    }
  }
  return problems;
}

function textProblem(text: string): string | undefined {
  const deceiving = deceivingIn(text);
  return deceiving === undefined ? undefined : `has ${deceiving}`;
}

function deceivingIn(text: string): string | undefined {
  const code = DECEIVING.exec(text)?.[0].codePointAt(0);
  if (code === undefined) return undefined;
  return `the character U+${code.toString(16).toUpperCase().padStart(4, "0")}, which a terminal shows falsely`;
}

/** `JSON.parse` has rounded already: what is beyond 2^53 now was beyond it then. */
function numberProblem(value: unknown): string | undefined {
  if (typeof value !== "number") return undefined;
  const isExact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact ? undefined : "is a number that JSON readers round: put it in quotes";
}
