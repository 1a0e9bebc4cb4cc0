import { DecodeError } from "../projection/protobuf.ts";

/** Longest frame. etcd refuses objects above 1.5 MiB, so ten times that is not an object. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Called for each whole frame, within `push`. The bytes are valid until it returns. */
export type OnFrame = (bytes: Buffer, start: number, end: number) => void;

/** Cuts a stream, whose chunks end anywhere, into frames. What is left at the end of the stream is no frame. */
export interface FrameSplitter {
  /** @throws DecodeError for a frame above the limit, before it is held in memory; whatever `onFrame` throws. */
  push(chunk: Buffer): void;
}

/** Chunks waiting for the rest of their frame. Joined once when enough is there, not once a chunk. */
class Pending {
  #chunks: Buffer[] = [];
  #sizeBytes = 0;

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#sizeBytes += chunk.length;
  }

  /** All that waited, and nothing waits any more. */
  take(): Buffer {
    const [first] = this.#chunks;
    const all = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#sizeBytes = 0;
    return all;
  }
}

const NEWLINE = 0x0a;

/** JSON watch events: one a line. Splits bytes, not text, so a character cut in two is no matter. */
export class JsonFrames implements FrameSplitter {
  readonly #onFrame: OnFrame;
  readonly #maxBytes: number;
  readonly #pending = new Pending();

  constructor(onFrame: OnFrame, maxBytes = MAX_FRAME_BYTES) {
    this.#onFrame = onFrame;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    let bytes = chunk;
    let newline = chunk.indexOf(NEWLINE);
    if (this.#pending.sizeBytes > 0) {
      const before = this.#pending.sizeBytes;
      this.#pending.add(chunk);
      if (newline < 0) {
        this.#check(this.#pending.sizeBytes);
        return;
      }
      bytes = this.#pending.take();
      newline += before;
    }
    let start = 0;
    while (newline >= 0) {
      this.#check(newline - start);
      // An empty line is a keep-alive of some proxies.
      if (newline > start) this.#onFrame(bytes, start, newline);
      start = newline + 1;
      newline = bytes.indexOf(NEWLINE, start);
    }
    this.#check(bytes.length - start);
    if (start < bytes.length) this.#pending.add(bytes.subarray(start));
  }

  #check(sizeBytes: number): void {
    if (sizeBytes > this.#maxBytes) throw new DecodeError(`frame is larger than ${this.#maxBytes} bytes`);
  }
}

/** Bytes of the big-endian length in front of each protobuf frame. */
const PREFIX_BYTES = 4;

/** Protobuf watch events: each after its length. */
export class ProtobufFrames implements FrameSplitter {
  readonly #onFrame: OnFrame;
  readonly #maxBytes: number;
  readonly #pending = new Pending();
  /** How many bytes must be there before looking again is worth it. */
  #neededBytes = PREFIX_BYTES;

  constructor(onFrame: OnFrame, maxBytes = MAX_FRAME_BYTES) {
    this.#onFrame = onFrame;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#pending.add(chunk);
    if (this.#pending.sizeBytes < this.#neededBytes) return;
    const bytes = this.#pending.take();
    let start = 0;
    this.#neededBytes = PREFIX_BYTES;
    while (bytes.length - start >= PREFIX_BYTES) {
      const sizeBytes = bytes.readUInt32BE(start);
      if (sizeBytes > this.#maxBytes) throw new DecodeError(`frame is larger than ${this.#maxBytes} bytes`);
      const end = start + PREFIX_BYTES + sizeBytes;
      if (end > bytes.length) {
        this.#neededBytes = PREFIX_BYTES + sizeBytes;
        break;
      }
      this.#onFrame(bytes, start + PREFIX_BYTES, end);
      start = end;
    }
    if (start < bytes.length) this.#pending.add(bytes.subarray(start));
  }
}
