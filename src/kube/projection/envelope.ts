import { BYTES, DecodeError, type ProtobufInput } from "./protobuf.ts";

/** `k8s\0`, before every object. */
const MAGIC = 0x6b387300;
const MAGIC_BYTES = 4;

/** `field << 3 | BYTES`: the two or three fields of each envelope that matter. */
export const FIRST = (1 << 3) | BYTES;
export const SECOND = (2 << 3) | BYTES;

/** Whether an object starts here. */
export function isWrapped(bytes: Buffer, start: number, end: number): boolean {
  return end - start >= MAGIC_BYTES && bytes.readUInt32BE(start) === MAGIC;
}

/** Moves to the content of the `runtime.Unknown` that starts here; returns the content's end. */
export function unwrap(input: ProtobufInput, end: number): number {
  if (!isWrapped(input.bytes, input.pos, end)) throw new DecodeError("an object without its magic number");
  input.pos += MAGIC_BYTES;
  return enter(input, SECOND, end);
}

/** Moves into the field `wanted` of the message that ends at `end`; returns that field's end. */
export function enter(input: ProtobufInput, wanted: number, end: number): number {
  while (input.pos < end) {
    const tag = input.uint32(end);
    if (tag === wanted) return input.lengthDelimited(end);
    input.skip(tag & 7, end);
  }
  throw new DecodeError("an envelope without content");
}
