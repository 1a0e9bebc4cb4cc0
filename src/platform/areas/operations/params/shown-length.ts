const PRINTS = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
/** Ranges of characters added by Unicode 15.1 to 17. An API server with older tables escapes them. */
const NEW =
  "88f-88f 897-897 c5c-c5c cdc-cdc 1acf-1add 1ae0-1aeb 1b4e-1b4f 1b7f-1b7f 1c89-1c8a 20c1-20c1 2427-2429 2b96-2b96 " +
  "2ffc-2fff 31e4-31e5 31ef-31ef a7cb-a7cf a7d2-a7d2 a7d4-a7d4 a7da-a7dc a7f1-a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce";
/** Known ranges above U+FFFF; all other characters there count as new. */
const OLD = "1d400-1d7ff 1f300-1f6d7 1f900-1f9ff 20000-2a6df";

const NEW_CHARACTER = oneOf(NEW);
const OLD_CHARACTER = oneOf(OLD);

/**
 * The number of characters with which an admission policy of the cluster shows a value (`'%s'.format()` of CEL). The
 * policy limits plans by it. The form is JSON with a space after each comma, six digits in each fraction, and escapes
 * for characters that do not print, such as `\u00a0`. The result is never less than what the cluster counts.
 */
export function shownLength(value: unknown): number {
  if (typeof value === "string") return quotedLength(value);
  if (typeof value === "number" && !Number.isInteger(value)) return value.toFixed(6).length;
  if (typeof value !== "object" || value === null) return String(value).length;
  const inner = Array.isArray(value)
    ? value.map(shownLength)
    : Object.entries(value).map(([key, entry]) => quotedLength(key) + 1 + shownLength(entry));
  return inner.reduce((sum, length) => sum + length, 2 + 2 * Math.max(0, inner.length - 1));
}

/** The length in the form of Go's strconv.Quote. */
function quotedLength(text: string): number {
  let length = 2;
  for (const character of text) length += lengthOf(character);
  return length;
}

function lengthOf(character: string): number {
  if (character === '"' || character === "\\" || character === "\n" || character === "\t") return 2;
  const isLong = character.length > 1;
  const isKnown = isLong ? OLD_CHARACTER.test(character) : !NEW_CHARACTER.test(character);
  if (isKnown && PRINTS.test(character)) return 1;
  return isLong ? 10 : 6;
}

function oneOf(ranges: string): RegExp {
  const classes = ranges.replaceAll(/([0-9a-f]+)-([0-9a-f]+) ?/g, "\\u{$1}-\\u{$2}");
  return new RegExp(`[${classes}]`, "u");
}
