import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** Unix mode with its file type. @default a plain file */
  readonly mode?: number;
  /** Bit 0: encrypted. */
  readonly flags?: number;
  /** What the directory claims in place of the truth. */
  readonly claimedSize?: number;
}

const UTF8_NAME = 0x800;
const MADE_BY_UNIX = 3 << 8;

/** An archive as its entries say, also one that no tool would write. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content = "", mode = 0o100644, flags = 0, claimedSize } of entries) {
    const plain = Buffer.from(content);
    const packed = deflateRawSync(plain);
    const file = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(flags | UTF8_NAME, 2);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(plain), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(claimedSize ?? plain.length, 18);
    facts.writeUInt16LE(file.length, 22);
    const local = Buffer.concat([signature(0x04034b50), facts, file, packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE((mode << 16) >>> 0, 6);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([signature(0x02014b50), madeBy(), facts, place, file]));
    parts.push(local);
    offset += local.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listing.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listing, signature(0x06054b50), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function madeBy(): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(MADE_BY_UNIX | 20);
  return bytes;
}
