import { invalid, MAX_ISSUES, PlatformError } from "../errors.ts";

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;
/** Deeply nested JSON overflows the stack of recursive readers. No record here is deeper than 20. */
export const MAX_DEPTH = 64;
/**
 * Values in one body: keys of objects and elements of lists together. One megabyte can hold half a million values, and
 * each costs time in every later step. The largest valid body, a full reconcile, has a tenth of this limit.
 */
export const MAX_VALUES = 100_000;
/** Keys of one object: a map of tens of thousands of names costs much more than a list of as many values. */
export const MAX_KEYS = 4096;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The JSON body, or undefined when there is none.
 * @throws UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON (also for bytes that are not UTF-8), VALIDATION_ERROR for too many
 * values.
 */
export function parseBody(raw: Buffer | undefined, contentType: string | undefined): unknown {
  if (raw === undefined || raw.length === 0) return undefined;
  if (contentType === undefined || !JSON_TYPE.test(contentType)) throw new PlatformError("UNSUPPORTED_MEDIA_TYPE");
  const excess = excessOf(raw);
  if (excess !== undefined) throw invalid({ path: "body", message: excess });
  try {
    return JSON.parse(utf8.decode(raw));
  } catch (error) {
    throw new PlatformError("MALFORMED_JSON", { cause: error });
  }
}

/**
 * Says why a text has too many values, from its punctuation alone: parsing a megabyte of brackets takes a hundred times
 * as long. It never refuses a body that the checker would accept.
 */
function excessOf(raw: Buffer): string | undefined {
  let depth = 0;
  let commas = 0;
  for (let at = 0; at < raw.length; at += 1) {
    switch (raw[at]) {
      case QUOTE:
        at = endOfText(raw, at + 1);
        break;
      case COMMA:
        commas += 1;
        if (commas > MAX_VALUES) return `has more than ${MAX_VALUES} values`;
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        // One level more than the checker allows: an empty list holds no value.
        if (depth > MAX_DEPTH + 1) return `is nested deeper than ${MAX_DEPTH}`;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      default:
    }
  }
  return undefined;
}

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\,[]{}');

function endOfText(raw: Buffer, from: number): number {
  let at = from;
  while (at < raw.length && raw[at] !== QUOTE) at += raw[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Refuses a body on endpoints without one; an empty body and `{}` are accepted (§0.1). */
export function refuseBody(body: unknown): void {
  if (body === undefined) return;
  const keys = typeof body === "object" && body !== null && !Array.isArray(body) ? Object.keys(body) : undefined;
  if (keys === undefined) throw invalid({ path: "body", message: "must be absent or {}" });
  if (keys.length > 0) {
    throw invalid(
      ...keys.slice(0, MAX_ISSUES).map((key) => ({ path: `body.${key.slice(0, 128)}`, message: "is not a known key" })),
    );
  }
}
