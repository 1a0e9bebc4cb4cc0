import { isUtf8 } from "node:buffer";

/** Why bytes are no text. The message follows the name of a file. */
export class EncodingProblem extends Error {}

const LINE_BREAK = 0x0a;

/**
 * The text that these bytes are, without the mark of its encoding: UTF-8, or UTF-16 that says so, as the shells of Windows write it.
 *
 * @throws EncodingProblem
 */
export function decoded(bytes: Uint8Array): string {
  const [one, two, three, four] = bytes;
  if ((one === 0xff && two === 0xfe && three === 0 && four === 0) || (one === 0 && two === 0 && three === 0xfe)) {
    throw new EncodingProblem("is UTF-32: save it as UTF-8");
  }
  if (one === 0xff && two === 0xfe) return ofUtf16(bytes, "utf-16le");
  if (one === 0xfe && two === 0xff) return ofUtf16(bytes, "utf-16be");
  const nothing = bytes.indexOf(0);
  if (nothing >= 0) {
    // As UTF-8, a text of UTF-16 has a byte of 0 beside each letter.
    throw new EncodingProblem(
      `is no text: line ${lineAt(bytes, nothing)} has the byte 0x00. Of UTF-16, save it as UTF-8`,
    );
  }
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const at = firstForeign(bytes);
  const byte = `0x${(bytes[at] ?? 0).toString(16).padStart(2, "0")}`;
  const line = lineAt(bytes, at);
  throw new EncodingProblem(
    `is no UTF-8: line ${line} has the byte ${byte}. Of Latin-1 or Windows-1252, save it as UTF-8`,
  );
}

function ofUtf16(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    const error = new EncodingProblem("begins as UTF-16 and is none: save it as UTF-8");
    error.cause = cause;
    throw error;
  }
}

/** Where the first character is that is no UTF-8. */
function firstForeign(bytes: Uint8Array): number {
  let at = 0;
  for (let length = 1; at < bytes.length; at += length) {
    const lead = bytes[at] ?? 0;
    length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (lead >= 0x80 && !isUtf8(bytes.subarray(at, at + length))) break;
  }
  return at;
}

function lineAt(bytes: Uint8Array, at: number): number {
  let line = 1;
  for (let next = bytes.indexOf(LINE_BREAK); next >= 0 && next < at; next = bytes.indexOf(LINE_BREAK, next + 1))
    line += 1;
  return line;
}
