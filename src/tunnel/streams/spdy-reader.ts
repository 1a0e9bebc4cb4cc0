import { randomBytes } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import type { Clock } from "../../base/clock.ts";
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
/** Blocks of headers a second, and of one connection; kubectl sends two for each connection that it carries. */
const BLOCKS_A_SECOND = 100;
const BLOCKS_AT_ONCE = 200;
const MAX_BLOCKS = 4_096;
/** Deflated data's last block: stored, of 16 bytes. */
const STORED = Buffer.from("011000efff", "hex");
const MARK_BYTES = 16;
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
 * block of headers and what zlib looks back at, no content. What is no SPDY/3.1, or comes
 * too fast to be read, makes it broken, for good.
 */
export class SpdyReader {
  readonly #listener: SpdyListener;
  #isBroken = false;
  /** The frame's own header, then its block. */
  #kept = Buffer.alloc(0);
  #wanted = FRAME_HEADER;
  #skip = 0;
  #isContent = false;
  /** What zlib looks back at, with room behind it; undefined before the first block. */
  #history: Buffer | undefined;
  #historyEnd = 0;
  readonly #mark = randomBytes(MARK_BYTES);
  readonly #clock: Pick<Clock, "monotonicMs">;
  #blocks = 0;
  #allowance = BLOCKS_AT_ONCE;
  #allowedAtMs: number;

  constructor(listener: SpdyListener, clock: Pick<Clock, "monotonicMs">) {
    this.#listener = listener;
    this.#clock = clock;
    this.#allowedAtMs = clock.monotonicMs();
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
    const headers = this.#mayRead() ? this.#headersOf(block) : undefined;
    this.#next(0);
    if (headers === undefined) this.#break();
    else if (type === SYN_STREAM) this.#listener.onStream?.(headers);
  }

  /** Each block costs a decoder of its own, on the thread that serves all sessions. */
  #mayRead(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#allowedAtMs) * BLOCKS_A_SECOND) / 1_000;
    this.#allowance = Math.min(BLOCKS_AT_ONCE, this.#allowance + gained) - 1;
    this.#allowedAtMs = nowMs;
    this.#blocks += 1;
    return this.#allowance >= 0 && this.#blocks <= MAX_BLOCKS;
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
   *
   * The API server's decoder would carry a block that ends in the middle of deflated data into the next one, and read other
   * headers there. So a last block is put behind each: only a decoder that stands between two blocks reads bytes out of it
   * that the client cannot know.
   */
  #inflate(block: Buffer): Buffer | undefined {
    let deflated = block;
    if (this.#history === undefined) {
      if (block.length < 6 || (block[1] ?? 0) < 0x20 || !block.subarray(2, 6).equals(ZLIB_HEADER)) return undefined;
      deflated = block.subarray(6);
      this.#history = Buffer.alloc(2 * WINDOW);
      this.#remember(this.#history, SPDY_DICTIONARY);
    }
    const history = this.#history;
    const whole = Buffer.concat([deflated, STORED, this.#mark]);
    const { buffer, engine } = withInfo(
      inflateRawSync(whole, {
        dictionary: history.subarray(Math.max(0, this.#historyEnd - WINDOW), this.#historyEnd),
        maxOutputLength: MAX_PLAIN + MARK_BYTES,
        info: true,
      }),
    );
    const plain = buffer.subarray(0, -MARK_BYTES);
    if (engine.bytesWritten !== whole.length || !buffer.subarray(-MARK_BYTES).equals(this.#mark)) return undefined;
    // A stored block of the client's has swallowed all of the one behind it.
    if (plain.subarray(-STORED.length).equals(STORED)) return undefined;
    this.#remember(history, plain);
    return plain;
  }

  /** Moves what is kept only when the room behind it is used up. */
  #remember(history: Buffer, plain: Buffer): void {
    if (this.#historyEnd + plain.length > history.length) {
      history.copy(history, 0, this.#historyEnd - WINDOW, this.#historyEnd);
      this.#historyEnd = WINDOW;
    }
    this.#historyEnd += plain.copy(history, this.#historyEnd);
  }
}

/** With `info`, zlib answers this; its types do not say so. */
function withInfo(answer: unknown): { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } } {
  return answer as ReturnType<typeof withInfo>;
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
