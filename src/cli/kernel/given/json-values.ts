const [QUOTE, ESCAPE, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];
const BLANK = /[ \t\r\n]*/y;

interface JsonValue {
  readonly value: unknown;
  readonly start: number;
  readonly end: number;
}

/** The objects of JSON that stand one after the other at the beginning of a text, and where what follows them begins. */
export function jsonValuesIn(text: string): { readonly values: readonly JsonValue[]; readonly end: number } {
  const values: JsonValue[] = [];
  let end = 0;
  for (;;) {
    const start = afterBlank(text, end);
    const next = text.charCodeAt(start) === OPEN ? endOf(text, start) : -1;
    if (next < 0) return { values, end };
    try {
      values.push({ value: JSON.parse(text.slice(start, next)), start, end: next });
    } catch {
      return { values, end };
    }
    end = next;
  }
}

function afterBlank(text: string, from: number): number {
  BLANK.lastIndex = from;
  BLANK.test(text);
  return BLANK.lastIndex;
}

/** Behind the bracket that closes the one here; -1: none does. */
function endOf(text: string, start: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isQuoted) {
      if (unit === ESCAPE) at += 1;
      else if (unit === QUOTE) isQuoted = false;
    } else if (unit === QUOTE) isQuoted = true;
    else if (unit === OPEN || unit === OPEN_LIST) depth += 1;
    else if (unit === CLOSE || unit === CLOSE_LIST) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
