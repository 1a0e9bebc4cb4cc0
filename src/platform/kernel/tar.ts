import { createReadStream, createWriteStream } from "node:fs";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { extract, type Pack, pack } from "tar-stream";

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

/** Takes the entries of an archive that is being written, one after the other. */
export interface TarWriter {
  folder(name: string): void;
  file(file: TarFile, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void>;
}

/** Writes an archive into a new file. When it fails, a part of the file stays. */
export async function writeTar(
  path: string,
  fill: (writer: TarWriter) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const archive = pack();
  const filling = async (): Promise<void> => {
    try {
      await fill({
        folder: (name) => void archive.entry({ name, type: "directory", mode: 0o755, mtime: EPOCH }),
        file: (file, content) => addFile(archive, file, content),
      });
      archive.finalize();
    } catch (error) {
      archive.destroy(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  };
  // Waits for both, also when one fails, so that nothing writes after the caller has cleared the place.
  const writing = pipeline(archive, createWriteStream(path, { flags: "wx", mode: 0o600 }), { signal });
  const [filled, written] = await Promise.allSettled([filling(), writing]);
  signal.throwIfAborted();
  if (filled.status === "rejected") throw filled.reason;
  if (written.status === "rejected") throw written.reason;
}

/**
 * Reads the plain files of an archive that are wanted, one after the other, and passes over the rest.
 * @param isWanted the name, without `./` before it.
 */
export async function readTar(
  path: string,
  isWanted: (name: string) => boolean,
  take: (file: Required<Pick<TarFile, "name" | "size">>, content: AsyncIterable<Uint8Array>) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const archive = extract();
  const taking = async (): Promise<void> => {
    for await (const entry of archive) {
      const name = entry.header.name.replace(/^\.\//, "");
      if (entry.header.type === "file" && isWanted(name)) {
        await take({ name, size: entry.header.size ?? 0 }, entry as AsyncIterable<Uint8Array>);
      } else entry.resume();
    }
  };
  const [taken, read] = await Promise.allSettled([taking(), pipeline(createReadStream(path), archive, { signal })]);
  signal.throwIfAborted();
  if (taken.status === "rejected") throw taken.reason;
  if (read.status === "rejected") throw read.reason;
}
