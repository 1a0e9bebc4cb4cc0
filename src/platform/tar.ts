import { open } from "node:fs/promises";

/** The oldest form of tar that has long enough names, which everything reads (POSIX.1-1988 "ustar"). */
const BLOCK = 512;

export interface TarEntry {
  readonly name: string;
  readonly size: number;
}

/**
 * The block before a file's content. Deterministic: owner, group and time are 0.
 * @throws RangeError for a name that the form cannot hold: over 255 bytes, or over 100 in its last segment.
 */
export function tarHeader({ name, size }: TarEntry, mode = 0o644): Buffer {
  const { prefix, rest } = split(name);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    header.write(value.toString(8).padStart(length - 1, "0"), at);
  };
  header.write(rest, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  header.write(prefix, 345);
  header.write(`${sumOf(header).toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** What fills a content's last block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

export const TAR_END: Buffer = Buffer.alloc(2 * BLOCK);

function split(name: string): { readonly prefix: string; readonly rest: string } {
  if (Buffer.byteLength(name) <= 100) return { prefix: "", rest: name };
  for (let at = name.indexOf("/"); at !== -1; at = name.indexOf("/", at + 1)) {
    const [prefix, rest] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(rest) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, rest };
  }
  throw new RangeError("the name is too long for an archive");
}

/** Its own field counts as spaces. */
function sumOf(header: Buffer): number {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum;
}

/**
 * The plain files of an archive, in order, each with where its content begins.
 * @throws Error for what is no such archive, or ends too early.
 */
export async function* tarEntries(file: string): AsyncGenerator<TarEntry & { readonly start: number }> {
  const handle = await open(file, "r");
  try {
    const { size: end } = await handle.stat();
    for (let at = 0; ; ) {
      const header = Buffer.alloc(BLOCK);
      const { bytesRead } = await handle.read(header, 0, BLOCK, at);
      if (bytesRead < BLOCK) throw new Error("the archive ends too early");
      if (header.every((byte) => byte === 0)) return;
      const entry = readHeader(header);
      const start = at + BLOCK;
      at = start + entry.size + tarPadding(entry.size).length;
      if (at > end) throw new Error("the archive ends too early");
      yield { ...entry, start };
    }
  } finally {
    await handle.close();
  }
}

function readHeader(header: Buffer): TarEntry {
  const text = (at: number, length: number): string => {
    const field = header.subarray(at, at + length);
    const end = field.indexOf(0);
    return field.toString("utf8", 0, end === -1 ? length : end);
  };
  const number = (at: number, length: number): number => Number.parseInt(text(at, length).trim() || "0", 8);
  if (text(257, 5) !== "ustar" || number(148, 8) !== sumOf(header)) throw new Error("the archive is damaged");
  if (!["0", ""].includes(text(156, 1))) throw new Error("the archive holds more than files");
  const prefix = text(345, 155);
  const name = text(0, 100);
  return { name: prefix === "" ? name : `${prefix}/${name}`, size: number(124, 12) };
}

/** A whole archive in memory. */
export function tarOf(files: readonly { readonly name: string; readonly content: Uint8Array }[]): Buffer {
  const parts = files.flatMap(({ name, content }) => {
    const size = content.byteLength;
    return [tarHeader({ name, size }), content, tarPadding(size)];
  });
  return Buffer.concat([...parts, TAR_END]);
}
