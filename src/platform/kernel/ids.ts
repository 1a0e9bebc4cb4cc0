import { randomBytes, randomUUID } from "node:crypto";

const LOWER = "0123456789abcdefghijklmnopqrstuvwxyz";
const MIXED = `${LOWER}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

/** Length and alphabet of each kind of id (§0.1). */
const FORMATS = {
  ws: [24, MIXED],
  apikey: [28, LOWER],
  prj: [28, LOWER],
  dg: [28, LOWER],
  dep: [28, LOWER],
  mgr: [28, LOWER],
  rel: [28, MIXED],
  pkg: [28, LOWER],
  ar: [28, LOWER],
  cmd: [28, MIXED],
  event: [28, MIXED],
  dbg: [28, MIXED],
  usr: [28, LOWER],
  winv: [32, MIXED],
  wil: [40, MIXED],
  duop: [28, LOWER],
  cluster: [28, LOWER],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;

export type IdPrefix = keyof typeof FORMATS;

/** A random id such as `dep_4k…`: never sequential, never reused. */
export function newId(prefix: IdPrefix): string {
  const [length, alphabet] = FORMATS[prefix];
  return `${prefix}_${randomText(length, alphabet)}`;
}

/**
 * `length` characters, each equally likely. Bytes above the largest multiple of the alphabet's size are discarded,
 * because they would make some characters more likely.
 */
export function randomText(length: number, alphabet: string): string {
  const limit = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < limit && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

export const LOWER_ALPHANUMERIC = LOWER;
export const ALPHANUMERIC = MIXED;

/**
 * RFC 9562 version 7: sorts by time, which keeps request logs readable. The random bits come from Node's `randomUUID`,
 * which is fast because it keeps random bytes in reserve.
 */
export function uuidv7(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, "0");
  // After its version digit a random UUID has the variant and the random bits that version 7 needs too.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
