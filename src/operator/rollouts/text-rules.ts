import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";

/**
 * Control characters but line breaks and tabs, and those that turn the direction of text: by them a terminal shows another
 * object than the one that is applied. Characters that join letters or show nothing stay: texts of many languages need them.
 */
const DECEIVING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this finds.
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Zl}\p{Zp}]|\r(?!\n)|\p{Cs}/u;
const MAX_PATH = 200;

/** Texts that look different from what is stored: what a person reads before the approval has to be what is applied. */
export function textProblems(manifest: ReleaseManifest): readonly string[] {
  // No recursion: how deep a manifest goes is the vendor's choice.
  const waiting: { readonly at: string; readonly node: unknown }[] = [{ at: "", node: manifest }];
  const found: string[] = [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, node } = next;
    if (typeof node === "string" && DECEIVING.test(node)) found.push(at);
    if (typeof node !== "object" || node === null) continue;
    for (const [key, value] of Object.entries(node)) {
      if (DECEIVING.test(key)) found.push(`${at}, in the name of a field`);
      else waiting.push({ at: at.length > MAX_PATH ? at : `${at}.${key}`, node: value });
    }
  }
  return found.sort().map((at) => `a text has characters that a terminal shows falsely: ${at || "."}`);
}
