/**
 * JSON may have these as they are; a terminal obeys some of them when the file is printed, and others hide text or turn it
 * around. JSON escapes the other control characters by itself.
 */
const UNPRINTABLE = /[\x7f-\x9f\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** With each of them as JSON would write its code. */
export function escapedUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (each) => each.split("").map(escapedUnit).join(""));
}

function escapedUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
