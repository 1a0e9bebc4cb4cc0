import type { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import { MAX_METADATA_BYTES, METADATA_FILE } from "../../../../plugins/metadata.ts";
import type { Issue } from "../../../kernel/errors.ts";

/** §2.1. The unpacked size that an archive states is limited too, to protect the programs that unpack it. */
const MAX_ENTRIES = 2000;
const MAX_UNPACKED_BYTES = 1024 ** 3;

export interface Archive {
  /** `metadata.json`, parsed; undefined when there is none. */
  readonly metadata: unknown;
  readonly files: ReadonlySet<string>;
  /** Why the archive cannot be a bundle. */
  readonly issues: readonly Issue[];
}

/**
 * Inspects a ZIP without unpacking it: all names and sizes of its directory, and the content of one file, up to a
 * limit.
 */
export async function readArchive(file: string): Promise<Archive> {
  try {
    const zip = await openPromise(file, { lazyEntries: true, strictFileNames: true, autoClose: false });
    try {
      return await readEntries(zip);
    } finally {
      zip.close();
    }
  } catch (error) {
    // The library's message may contain names from the uploaded archive, so it is shown quoted and cut.
    return unfit(error instanceof Error ? JSON.stringify(error.message.slice(0, 128)) : "cannot be read");
  }
}

/** One file of an archive, whole; or why there is none, in words that complete "the bundle …". */
export async function fileIn(
  archive: string,
  { name, maxBytes }: { readonly name: string; readonly maxBytes: number },
): Promise<Buffer | string> {
  const zip = await openPromise(archive, { lazyEntries: true, strictFileNames: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName !== name) continue;
      if (entry.uncompressedSize > maxBytes) return `has a ${name} over ${maxBytes / 1024 ** 2} MiB`;
      return await whole(zip, entry);
    }
    return `has no ${name}`;
  } finally {
    zip.close();
  }
}

async function whole(zip: ZipFile, entry: Entry): Promise<Buffer | string> {
  try {
    const bytes = await bytesOf(await zip.openReadStreamPromise(entry));
    if (crc32(bytes) === entry.crc32) return bytes;
  } catch (error) {
    // The disk's, which another try may read. All else is of what lies in the archive.
    if (error instanceof Error && "syscall" in error) throw error;
  }
  return `has a ${entry.fileName} that is damaged`;
}

function unfit(message: string): Archive {
  return { metadata: undefined, files: new Set(), issues: [{ path: "bundle", message }] };
}

async function readEntries(zip: ZipFile): Promise<Archive> {
  if (zip.entryCount > MAX_ENTRIES) return unfit(`has more than ${MAX_ENTRIES} entries`);
  const files = new Set<string>();
  let unpackedBytes = 0;
  let metadata: unknown;
  for await (const entry of zip.eachEntry()) {
    unpackedBytes += entry.uncompressedSize;
    const fault = faultOf(entry, files) ?? (unpackedBytes > MAX_UNPACKED_BYTES ? "unpacks to over 1 GiB" : undefined);
    if (fault !== undefined) return unfit(`${JSON.stringify(entry.fileName.slice(0, 64))} ${fault}`);
    files.add(entry.fileName);
    if (entry.fileName !== METADATA_FILE) continue;
    if (entry.uncompressedSize > MAX_METADATA_BYTES) return unfit(`has a ${METADATA_FILE} over 256 KiB`);
    metadata = parse(await bytesOf(await zip.openReadStreamPromise(entry)));
    if (metadata === undefined) return unfit(`has a ${METADATA_FILE} that is no sound JSON`);
  }
  return { metadata, files, issues: [] };
}

const FILE_TYPE = 0o170000;
const PLAIN: readonly number[] = [0, 0o100000, 0o040000];
const MADE_BY_UNIX = 3;

/** The library has already refused absolute names, names with `../..`, and backslashes. */
function faultOf(entry: Entry, seen: ReadonlySet<string>): string | undefined {
  const fromUnix = entry.versionMadeBy >> 8 === MADE_BY_UNIX;
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE;
  // The mode of a link counts, whatever system the archive names as its origin, because unpackers do not check that.
  if (!PLAIN.includes(type)) return fromUnix || type === 0o120000 ? "is a link or a device" : "has an unknown type";
  if (entry.isEncrypted()) return "is encrypted";
  if (seen.has(entry.fileName)) return "is there twice";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it finds them in names, where none may be.
  return /[\u0000-\u001f\u007f]/.test(entry.fileName) ? "has a control character in its name" : undefined;
}

/** Reads the content. The library fails at the first byte beyond the size that the entry states. */
async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Undefined for a text that is not JSON, or holds characters that SQL cannot store. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes), refuseUnstorable);
  } catch {
    return undefined;
  }
}

function refuseUnstorable(key: string, value: unknown): unknown {
  for (const text of [key, value]) {
    if (typeof text === "string" && (text.includes("\0") || !text.isWellFormed())) throw new Error("unstorable text");
  }
  return value;
}
