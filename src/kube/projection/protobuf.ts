import { decodeText, type Interner } from "./interner.ts";

/** The bytes are not what they should be. Ends the watch that meets it; never silently skipped. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

/** Protobuf's wire types that Kubernetes uses. 3 and 4 (groups) are refused. */
export const VARINT = 0;
const FIXED64 = 1;
export const BYTES = 2;
const FIXED32 = 5;

const TWO_32 = 4_294_967_296;

/** A cursor over protobuf bytes. Reused for every message of a stream: no allocation but the values. */
export class ProtobufInput {
  bytes: Buffer = Buffer.alloc(0);
  pos = 0;
  readonly strings: Interner;

  constructor(strings: Interner) {
    this.strings = strings;
  }

  /** Tag or length: at most 32 bits. */
  uint32(end: number): number {
    const { bytes } = this;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 5; count += 1) {
      if (this.pos >= end) throw new DecodeError("varint is cut off");
      const byte = bytes[this.pos] as number;
      this.pos += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value >= TWO_32) break;
        return value;
      }
      scale *= 128;
    }
    throw new DecodeError("varint is longer than 32 bits");
  }

  /** int32, int64 or bool: two's complement in up to ten bytes. Beyond 2^53 it loses low bits, as JSON does. */
  int64(end: number): number {
    let low = 0;
    let high = 0;
    for (let count = 0; count < 10; count += 1) {
      if (this.pos >= end) throw new DecodeError("varint is cut off");
      const byte = this.bytes[this.pos] as number;
      this.pos += 1;
      const bits = byte & 0x7f;
      if (count < 4) low += bits * 2 ** (7 * count);
      else if (count === 4) {
        low += (bits & 0x0f) * 2 ** 28;
        high += bits >>> 4;
      } else high += bits * 2 ** (7 * count - 32);
      if (byte < 0x80) return (high | 0) * TWO_32 + low;
    }
    throw new DecodeError("varint is longer than 64 bits");
  }

  /** End of the length-delimited field that starts here; the position is its first byte. */
  lengthDelimited(end: number): number {
    const length = this.uint32(end);
    const fieldEnd = this.pos + length;
    if (fieldEnd > end) throw new DecodeError("length points past its message");
    return fieldEnd;
  }

  skip(wire: number, end: number): void {
    if (wire === BYTES) this.pos = this.lengthDelimited(end);
    else if (wire === VARINT) this.int64(end);
    else if (wire === FIXED64) this.pos += 8;
    else if (wire === FIXED32) this.pos += 4;
    else throw new DecodeError(`wire type ${wire}`);
    if (this.pos > end) throw new DecodeError("field reaches past its message");
  }

  /** Text up to `end`; the position is left there. */
  text(end: number): string {
    const value = decodeText(this.bytes, this.pos, end);
    this.pos = end;
    return value;
  }

  internedText(end: number): string {
    const value = this.strings.text(this.bytes, this.pos, end);
    this.pos = end;
    return value;
  }
}
