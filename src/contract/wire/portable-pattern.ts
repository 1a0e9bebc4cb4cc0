/**
 * The pattern in a form that every regular expression engine reads. Engines differ in Unicode categories (Python has
 * none), so the OpenAPI document has their characters written out. The server itself uses the short form.
 */
export function portable(pattern: string): string {
  return pattern.replace(/\\p\{(\w+)\}/g, (_, category: string) => rangesOf(category));
}

const known = new Map<string, string>();

/** For use inside of `[…]`. */
function rangesOf(category: string): string {
  const found = known.get(category) ?? written(category);
  known.set(category, found);
  return found;
}

const LAST = 0x10ffff;

function written(category: string): string {
  const isIn = new RegExp(`\\p{${category}}`, "u");
  let text = "";
  for (let from = 0; from <= LAST; from += 1) {
    if (!isIn.test(String.fromCodePoint(from))) continue;
    let to = from;
    while (to < LAST && isIn.test(String.fromCodePoint(to + 1))) to += 1;
    text += to === from ? character(from) : `${character(from)}-${character(to)}`;
    from = to;
  }
  return text;
}

/** `\u` reaches 16 bits. Above them engines have no common escape, so the character itself is written. */
function character(point: number): string {
  return point > 0xffff ? String.fromCodePoint(point) : `\\u${point.toString(16).padStart(4, "0")}`;
}
