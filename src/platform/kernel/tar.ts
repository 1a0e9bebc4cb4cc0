import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { type Pack, pack } from "tar-stream";

/** Owner, group and time are 0, so that the same files give the same bytes. */
const EPOCH = new Date(0);

export interface TarFile {
  readonly name: string;
  readonly size: number;
  readonly mode?: number;
}

/**
 * Adds one file to an archive, at the speed at which the archive is read.
 * @throws Error when the content does not have that size
 */
export async function addFile(
  archive: Pack,
  { name, size, mode = 0o644 }: TarFile,
  content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  await pipeline(content, archive.entry({ name, size, mode, mtime: EPOCH }));
}

/** Makes a whole archive in memory. */
export async function tarOf(
  files: readonly { readonly name: string; readonly content: Uint8Array }[],
): Promise<Buffer> {
  const archive = pack();
  for (const { name, content } of files) archive.entry({ name, mtime: EPOCH }, content);
  archive.finalize();
  return await buffer(archive);
}
