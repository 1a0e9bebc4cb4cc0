import { printable, printableLine } from "../../crds/printable.ts";
import { redactText } from "../../crds/redact.ts";

// Words that others wrote, as they are told: without what looks like a secret, printable, and within the contract's bounds.

/** `line` in the contract. */
const MAX_LINE = 1_024;
/** Read for secrets: a cut before could halve one, and what is left would not be known for one. */
const MAX_READ = 8_192;

/** What no rule takes anything from: printable, and too short for a token. */
const SHORT = /^[\w.-]{1,14}$/;
const PLAIN = /^[\x21-\x7e]+$/;

/** A name of Kubernetes, or an address: it is told as an identity too, and holds no secret. Null for nothing. */
export function name(text: string | undefined, maxChars = MAX_LINE): string | null {
  if (text === undefined || text === "") return null;
  return text.length <= maxChars && PLAIN.test(text) ? text : printableLine(text, maxChars) || null;
}

/** On one line; null for nothing. */
export function line(text: string | undefined, maxChars = MAX_LINE): string | null {
  if (text === undefined || text === "") return null;
  return SHORT.test(text) ? text : printableLine(redacted(text), maxChars) || null;
}

/** With its line breaks; null for nothing. */
export function paragraph(text: string | undefined, maxChars: number): string | null {
  return text === undefined ? null : printable(redacted(text), maxChars);
}

/** A user and a password before a registry's name: the pull fails with them, and the name was told with them. */
const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)?[^/@\s]+@(?=[^/]*\/)/i;

/** The name of an image, of at most so many bytes as JSON. */
export function imageName(text: string, maxBytes: number): string {
  return within(line(text.replace(USER_INFO, "$1[redacted]@")) ?? "", maxBytes);
}

/** What fits of the text, in bytes as JSON without its quotes: a sign of Unicode is up to four. */
export function within(text: string, maxBytes: number): string {
  if (text.length * 6 <= maxBytes || sizeOf(text) <= maxBytes) return text;
  let [cut, bytes] = ["", sizeOf("…")];
  for (const sign of text) {
    bytes += sizeOf(sign);
    if (bytes > maxBytes) break;
    cut += sign;
  }
  return `${cut}…`;
}

/** A map of what others wrote, of at most so many bytes as JSON: what is beyond is left out. */
export function boundedMap(entries: readonly (readonly [string, string])[], maxBytes: number): Record<string, string> {
  const fitting: [string, string][] = [];
  let bytes = 2;
  for (const [name, value] of entries) {
    const told: [string, string] = [line(name) ?? "", line(value) ?? ""];
    bytes += sizeOf(told[0]) + sizeOf(told[1]) + 6;
    if (bytes > maxBytes) break;
    fitting.push(told);
  }
  return Object.fromEntries(fitting);
}

/** A count: an API server that lies may send others. */
export function count(value: number): number {
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** As RFC 3339 has it. A time that is none would have the whole report refused. */
export function timeOf(text: string | undefined): string | null {
  const at = Date.parse(text ?? "");
  if (Number.isNaN(at)) return null;
  const utc = new Date(at).toISOString();
  return /^(?!0000)\d{4}-/.test(utc) ? utc : null;
}

/** Reasons and messages are the same for thousands of objects, and each costs six searches. */
const kept = new Map<string, string>();
const MAX_KEPT = 4_096;
const MAX_KEPT_CHARS = 512;

function redacted(text: string): string {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const found = redactText(text.slice(0, MAX_READ), () => undefined);
  if (text.length > MAX_KEPT_CHARS) return found;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, found);
  return found;
}

function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
