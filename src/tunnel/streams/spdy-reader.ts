import { constants, inflateRawSync } from "node:zlib";
import { SPDY_DICTIONARY } from "./spdy-dictionary.ts";

const [SYN_STREAM, SYN_REPLY, HEADERS] = [1, 2, 8];
/** Bytes of a frame before its block of headers, by type. */
const BLOCK_AT: Readonly<Record<number, number>> = { [SYN_STREAM]: 10, [SYN_REPLY]: 4, [HEADERS]: 4 };
const FRAME_HEADER = 8;
const MAX_BLOCK = 32_768;
const MAX_PLAIN = 32_768;
const MAX_HEADERS = 64;
/** What zlib looks back at. */
const WINDOW = 32_768;
/** A zlib stream's header, and the checksum of its dictionary. */
const ZLIB_HEADER = Buffer.from("e3c6a7c2", "hex");

/** What the reader sees; called while `push` runs. */
export interface SpdyListener {
  /** A stream is opened. */
  onStream?(headers: ReadonlyMap<string, string>): void;
  /** Bytes of a stream; not for what keeps the connection alive or acknowledges. */
  onContent?(): void;
}

/**
 * Reads the SPDY/3.1 frames of one direction as they pass by, for the headers of the streams that they open. It keeps a
 * block of headers and what zlib looks back at, no content. What is no SPDY/3.1 makes it broken, for good.
 */
export class SpdyReader {
  readonly #listener: SpdyListener;
  #isBroken = false;
  /** The frame's own header, then its block. */
  #kept = Buffer.alloc(0);
  #wanted = FRAME_HEADER;
  #skip = 0;
  #isContent = false;
  #history: Buffer | undefined;

  constructor(listener: SpdyListener) {
    this.#listener = listener;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#isBroken) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        this.#skip -= skipped;
        if (this.#isContent) this.#listener.onContent?.();
        at += skipped;
        continue;
      }
      const part = chunk.subarray(at, at + this.#wanted - this.#kept.length);
      this.#kept = Buffer.concat([this.#kept, part]);
      at += part.length;
      if (this.#kept.length === this.#wanted) this.#advance();
    }
  }

  #advance(): void {
    const first = this.#kept.readUInt16BE(0);
    const type = this.#kept.readUInt16BE(2);
    const length = this.#kept.readUIntBE(5, 3);
    const blockAt = BLOCK_AT[type];
    this.#isContent = first < 0x8000;
    if (first < 0x8000) this.#next(length);
    else if (first !== 0x8003) this.#break();
    else if (blockAt === undefined) this.#next(length);
    else if (length < blockAt || length > MAX_BLOCK) this.#break();
    else if (this.#kept.length < FRAME_HEADER + length) this.#wanted = FRAME_HEADER + length;
    else this.#readBlock(type, this.#kept.subarray(FRAME_HEADER + blockAt));
  }

  #readBlock(type: number, block: Buffer): void {
    const headers = this.#headersOf(block);
    this.#next(0);
    if (headers === undefined) this.#break();
    else if (type === SYN_STREAM) this.#listener.onStream?.(headers);
  }

  #next(skip: number): void {
    this.#kept = Buffer.alloc(0);
    this.#wanted = FRAME_HEADER;
    this.#skip = skip;
  }

  #break(): void {
    this.#isBroken = true;
    this.#kept = Buffer.alloc(0);
    this.#history = undefined;
  }

  #headersOf(block: Buffer): ReadonlyMap<string, string> | undefined {
    try {
      const plain = this.#inflate(block);
      return plain && namesAndValues(plain);
    } catch {
      return undefined;
    }
  }

  /**
   * All blocks of a direction are one zlib stream, each flushed to a whole byte: so each is deflated data of its own, that
   * looks back at what came before it. No handle of zlib's stays open, and the inflated size has a bound.
   */
  #inflate(block: Buffer): Buffer | undefined {
    let deflated = block;
    if (this.#history === undefined) {
      if (block.length < 6 || (block[1] ?? 0) < 0x20 || !block.subarray(2, 6).equals(ZLIB_HEADER)) return undefined;
      deflated = block.subarray(6);
      this.#history = SPDY_DICTIONARY;
    }
    const dictionary = this.#history;
    const plain = inflateRawSync(deflated, {
      dictionary,
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MAX_PLAIN,
    });
    this.#history = Buffer.from(Buffer.concat([dictionary, plain]).subarray(-WINDOW));
    return plain;
  }
}

/** Undefined when it is cut, has bytes too many, or names one header twice. */
function namesAndValues(plain: Buffer): ReadonlyMap<string, string> | undefined {
  const count = plain.readUInt32BE(0);
  if (count > MAX_HEADERS) return undefined;
  let at = 4;
  const text = (): string => {
    const length = plain.readUInt32BE(at);
    at += 4 + length;
    if (at > plain.length) throw new RangeError("the block of headers is cut");
    return plain.toString("latin1", at - length, at);
  };
  const headers = new Map<string, string>();
  for (let each = 0; each < count; each += 1) headers.set(text().toLowerCase(), text());
  return headers.size === count && at === plain.length ? headers : undefined;
}
