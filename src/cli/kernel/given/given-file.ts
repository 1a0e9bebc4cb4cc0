import { open } from "node:fs/promises";
import { FriendlyError } from "../command.ts";
import { decoded, EncodingProblem } from "./decoded.ts";
import type { GivenDocument } from "./documents.ts";

/** Of a file that says something; comments and blanks may be most of it. */
const MAX_GIVEN_BYTES: number = 16 * 1024 * 1024;

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "cannot be read: it is not there",
  ENOTDIR: "cannot be read: it is not there",
  EACCES: "cannot be read by you",
  EISDIR: "cannot be read: it is a folder",
};

/**
 * The text of a file that a person named, or of what is piped in: `-`.
 *
 * @throws FriendlyError when it cannot be read, is larger than `most` bytes, or is no text
 */
export async function givenText(file: string, most: number = MAX_GIVEN_BYTES): Promise<string> {
  return textOf(file, await givenBytes(file, most));
}

/** @throws FriendlyError when the file cannot be read or has more than `most` bytes */
export async function givenBytes(file: string, most: number): Promise<Buffer> {
  try {
    return await bytesOf(file, most);
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** In words what the system says of a file that cannot be read. */
export function unreadable(file: string, cause: unknown): FriendlyError {
  if (cause instanceof FriendlyError) return cause;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return new FriendlyError(`${nameOf(file)} ${UNREADABLE[code] ?? `cannot be read: ${code}`}`, { cause });
}

/** By what is read and not by what the system says of it: a pipe has no size. */
async function bytesOf(file: string, most: number): Promise<Buffer> {
  const opened = file === "-" ? undefined : await open(file);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of opened?.createReadStream() ?? process.stdin) {
    size += chunk.length;
    if (size > most) throw new FriendlyError(`${nameOf(file)} has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws FriendlyError when these bytes of the file are no text */
export function textOf(file: string, bytes: Uint8Array): string {
  try {
    return decoded(bytes);
  } catch (cause) {
    if (cause instanceof EncodingProblem) throw new FriendlyError(`${nameOf(file)} ${cause.message}`, { cause });
    throw cause;
  }
}

/**
 * The document of a text that holds one, YAML or JSON, as every file is read: as kubectl does. Undefined when it is empty.
 *
 * @param name of the file, or of what the text was given with
 * @throws FriendlyError
 */
export async function givenDocument(name: string, text: string): Promise<GivenDocument | undefined> {
  // Loaded for it alone: the reader of YAML is a tenth of what a short command would load.
  const { DOUBLE, documentsIn } = await import("./documents.ts");
  const [first, second] = documentsIn(text).take(2);
  if (first?.fault !== undefined) {
    throw new FriendlyError(`${nameOf(name)}:${first.fault.line} is neither YAML nor JSON: ${first.fault.message}`);
  }
  // kubectl takes the last one; in a file of ours it is a mistake.
  const [double] = first?.doubles ?? [];
  if (double !== undefined) throw new FriendlyError(`${nameOf(name)}:${double.line} ${DOUBLE}`);
  if (second === undefined) return first;
  const { line } = second.fault ?? second.placeOf([]);
  throw new FriendlyError(`${nameOf(name)}:${line} begins a second document: give one in a file`);
}

/** The value of {@link givenDocument}. */
export async function givenValue(name: string, text: string): Promise<unknown> {
  return (await givenDocument(name, text))?.value;
}

function nameOf(file: string): string {
  return file === "-" ? "standard input" : file;
}
