import { createHash } from "node:crypto";
import { redactText } from "../../crds/redact.ts";
import { escapedUnprintable } from "../audit/escaped-unprintable.ts";
import { type ClientRequest, printed } from "../requests/judge.ts";
import type { Subject } from "../requests/subject.ts";
import { redactCommand } from "./redact-command.ts";

/** Names of Kubernetes have 253 characters at most; the API server refuses what is longer. */
const MOST_TEXT = 256;
/** Of the words of a command that runs, as JSON. One that is longer there does not run: {@link fitsRecord}. */
const MOST_COMMAND = 32_768;
/** Of one that was refused. */
const MOST_REFUSED_COMMAND = 4_096;
const CUT = "[cut]";

/**
 * What a request asks for, in a record of bounded length. A command that runs stands there whole: behind enough of harmless
 * words it could do anything unseen. Of one that is cut or has a secret taken out, the number of its words and their hash
 * tell whether another one is the same: SHA-256 of the words as a JSON array.
 */
export function subjectFields(
  subject: Subject | undefined,
  mostCommand = MOST_COMMAND,
): Readonly<Record<string, unknown>> {
  if (subject === undefined) return { discovery: true };
  const { command, ...plain } = subject;
  const bounded = Object.entries(plain).map(([name, value]) => [
    name,
    typeof value === "string" ? short(escapedUnprintable(value)) : value,
  ]);
  const fields = Object.fromEntries(bounded);
  if (command === undefined) return fields;
  const commandSha256 = createHash("sha256").update(JSON.stringify(command)).digest("hex");
  return {
    ...fields,
    command: fitting(recordedWords(command), mostCommand),
    commandWords: command.length,
    commandSha256,
  };
}

/**
 * Whether the record of a request has all of it. What does not fit must not go up: the escapes of some characters, and
 * the marks in place of secrets, are longer than what they stand for, so that a command could end behind the cut.
 */
export function fitsRecord(subject: Subject | undefined): boolean {
  if (subject === undefined) return true;
  const { command = [], ...plain } = subject;
  const isShort = Object.values(plain).every(
    (value) => typeof value !== "string" || escapedUnprintable(value).length <= MOST_TEXT,
  );
  const bytes = recordedWords(command).reduce((sum, word) => sum + bytesOf(word), 0);
  return isShort && bytes <= MOST_COMMAND;
}

/** Which record has the request that is refused; or what was asked for, where there is none. */
export type Asked = { readonly id: number } | Pick<ClientRequest, "method" | "target">;

export function askedFields(subject: Subject | undefined, asked: Asked): Readonly<Record<string, unknown>> {
  if ("id" in asked) return { id: asked.id, ...subjectFields(subject, MOST_REFUSED_COMMAND) };
  if (subject !== undefined) return subjectFields(subject, MOST_REFUSED_COMMAND);
  return { method: printed(asked.method), target: printed(redactText(asked.target, () => undefined)) };
}

function recordedWords(command: readonly string[]): readonly string[] {
  return redactCommand(command).map(escapedUnprintable);
}

/** As JSON, in UTF-8. */
function bytesOf(word: string): number {
  return Buffer.byteLength(JSON.stringify(word));
}

function short(text: string): string {
  return text.length <= MOST_TEXT ? text : cut(text, MOST_TEXT);
}

/** The first words that fit, and the beginning of the next one. */
function fitting(words: readonly string[], most: number): readonly string[] {
  const kept: string[] = [];
  let left = most;
  for (const word of words) {
    const bytes = bytesOf(word);
    if (bytes > left) {
      // A character takes six bytes at most.
      return [...kept, cut(word, Math.floor(left / 6))];
    }
    kept.push(word);
    left -= bytes;
  }
  return kept;
}

/** A record cannot hold half of a character of two units. */
function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed() + CUT;
}
