import { withoutCommands } from "./without-commands.ts";

/**
 * What a terminal may not be shown: control, format (zero-width, bidirectional), private-use, line and paragraph
 * separators, and the Hangul fillers that render as nothing. The same class as in the CRDs' patterns, line breaks and
 * tabs excepted.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes.
const UNPRINTABLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/**
 * Text that came from outside (a pod's log, an API server's message), fit for status, events and logs: unprintable
 * characters removed, cut to `maxChars` with an ellipsis. Everything foreign goes through here first.
 */
export function printable(text: string, maxChars: number): string {
  // Stripping a bounded piece first: a 10 MB annotation must not cost a 10 MB scan.
  const clean = text
    .slice(0, maxChars * 4)
    .toWellFormed()
    .replace(UNPRINTABLE, "");
  if (clean.length <= maxChars) return clean;
  return `${clean.slice(0, Math.max(maxChars - 1, 0)).toWellFormed()}…`;
}

/** Most characters of an API server's message inside a sentence of ours. */
export const MAX_API_ERROR = 900;

/** As {@link printable}, on one line. */
export function printableLine(text: string, maxChars: number): string {
  return printable(text, maxChars).replace(/\s+/g, " ").trim();
}

/** As {@link printableLine}, for conditions and events, which hold no command: an approver reads them. */
export function lineWithoutCommands(text: string, maxChars: number): string {
  // What a command becomes may be longer than it was.
  return printable(withoutCommands(printableLine(text, maxChars)), maxChars);
}

/** The message of anything thrown, for a person. Never a stack. */
export function errorText(error: unknown, maxChars = 512): string {
  return printableLine(error instanceof Error ? error.message : String(error), maxChars);
}
