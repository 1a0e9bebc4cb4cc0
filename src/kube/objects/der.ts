// DER (X.690) as far as certificate requests need it: tags of one byte, lengths in their only form, up to 65535 bytes.

/** One element; `content` has at most 65535 bytes. */
export function wrap(tag: number, ...content: readonly Buffer[]): Buffer {
  const whole = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(whole)]), whole]);
}

function lengthOf({ length }: Buffer): readonly number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

/** The element of this tag that `der` begins with, and what follows it. */
export function element(tag: number, der: Buffer): { readonly content: Buffer; readonly rest: Buffer } | undefined {
  const [first, short = 0xff] = der;
  if (first !== tag) return undefined;
  const extra = short < 0x80 ? 0 : short - 0x80;
  if (extra > 2 || (extra === 0 && short === 0x80) || der.length < 2 + extra) return undefined;
  const length = extra === 0 ? short : der.readUIntBE(2, extra);
  const shortest = extra === 0 || (extra === 1 ? length >= 0x80 : length >= 0x100);
  if (!shortest || der.length < 2 + extra + length) return undefined;
  return { content: der.subarray(2 + extra, 2 + extra + length), rest: der.subarray(2 + extra + length) };
}
