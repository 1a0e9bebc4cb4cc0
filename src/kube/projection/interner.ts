/**
 * One copy of strings that repeat: namespaces, node names, label keys and values, images are most of a cache's heap.
 *
 * A direct-mapped table: a collision replaces the older string, so the size is fixed and nothing is ever swept. A hit
 * costs no allocation, because bytes are compared with the kept string in place.
 */
export class Interner {
  readonly #table: (string | undefined)[];
  readonly #mask: number;
  /** Times of conditions repeat as names do, and formatting one costs more than ten look-ups. */
  readonly #times = new Map<number, string>();

  /** @param sizeLog2 table size as a power of two; default 13 (8,192 strings, 64 KiB of table). */
  constructor(sizeLog2 = 13) {
    this.#table = new Array<string | undefined>(1 << sizeLog2).fill(undefined);
    this.#mask = (1 << sizeLog2) - 1;
  }

  /** The text in `bytes[start, end)`. Long strings rarely repeat and are not kept. */
  text(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return "";
    if (length > MAX_LENGTH) return decodeText(bytes, start, end);
    let hash = FNV_OFFSET;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte >= 0x80) return bytes.toString("utf8", start, end);
      hash = Math.imul(hash ^ byte, FNV_PRIME);
    }
    const slot = (hash ^ (hash >>> 15)) & this.#mask;
    const kept = this.#table[slot];
    if (kept !== undefined && kept.length === length && sameText(kept, bytes, start)) return kept;
    const fresh = bytes.toString("latin1", start, end);
    this.#table[slot] = fresh;
    return fresh;
  }

  /** The kept copy of `value`, for text that was parsed already. */
  string(value: string): string {
    if (value.length > MAX_LENGTH) return value;
    let hash = FNV_OFFSET;
    for (let at = 0; at < value.length; at += 1) hash = Math.imul(hash ^ value.charCodeAt(at), FNV_PRIME);
    const slot = (hash ^ (hash >>> 15)) & this.#mask;
    const kept = this.#table[slot];
    if (kept === value) return kept;
    this.#table[slot] = value;
    return value;
  }

  /** RFC 3339 of whole Unix seconds. */
  time(seconds: number): string {
    const kept = this.#times.get(seconds);
    if (kept !== undefined) return kept;
    const fresh = `${new Date(seconds * 1000).toISOString().slice(0, -5)}Z`;
    if (this.#times.size >= MAX_TIMES) this.#times.clear();
    this.#times.set(seconds, fresh);
    return fresh;
  }
}

/** Kept times before all are forgotten at once. */
const MAX_TIMES = 4096;

/** Above this a string is a message or a hash, not a name. Names are at most 253 characters, label values 63. */
const MAX_LENGTH = 128;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** ASCII runs as latin1, three times as fast as UTF-8; any byte above 0x7f means UTF-8. */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  for (let at = start; at < end; at += 1) {
    if ((bytes[at] as number) >= 0x80) return bytes.toString("utf8", start, end);
  }
  return bytes.toString("latin1", start, end);
}

function sameText(text: string, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) !== bytes[start + at]) return false;
  }
  return true;
}
