import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** A recording that is there, up to the end of its last whole line. */
export interface FoundRecording {
  readonly bytes: number;
  readonly hash: Hash;
  /** What stood behind the last whole line, and was cut off. */
  readonly tornBytes: number;
  /** When its time began, seconds since the epoch, and the time of its last event; undefined: it has no line. */
  readonly times: { readonly began: number; readonly last: number } | undefined;
}

const BLOCK = 1_048_576;
/** Longer than a first line, and than the time at the beginning of an event. */
const LINE_START = 512;
/** Much longer than an event: what is no line for so long is not what a tunnel wrote, and nothing is cut off. */
const MAX_LINE = 4 * 1_048_576;
const LINE_FEED = 10;

/**
 * Cuts off a line that was torn when its process died, and reads the rest, a block at a time: a tunnel has less memory
 * than a recording may be long.
 *
 * @throws Error for a file that cannot be read, or is no recording.
 */
export async function mendedRecording(path: string): Promise<FoundRecording> {
  const hash = createHash("sha256");
  const file = await open(path, "r+").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return { bytes: 0, hash, tornBytes: 0, times: undefined };
  try {
    const { size } = await file.stat();
    const bytes = await endOfLine(file, size);
    if (bytes < size) await file.truncate(bytes);
    const times = bytes === 0 ? undefined : await timesOf(file, bytes);
    if (bytes > 0) for await (const block of createReadStream(path, { end: bytes - 1 })) hash.update(block);
    return { bytes, hash, tornBytes: size - bytes, times };
  } finally {
    await file.close();
  }
}

/** Where the last line before `to` ends, 0 when none does. @throws Error where nothing so long can be a line. */
async function endOfLine(file: FileHandle, to: number): Promise<number> {
  const block = Buffer.alloc(BLOCK);
  for (let end = to; end > 0; ) {
    const from = Math.max(0, end - BLOCK);
    const { bytesRead } = await file.read(block, 0, end - from, from);
    const at = block.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (at !== -1) return from + at + 1;
    end = from;
    if (to - end > MAX_LINE) throw new Error("the file that was found is no recording");
  }
  return 0;
}

async function timesOf(file: FileHandle, bytes: number): Promise<{ readonly began: number; readonly last: number }> {
  const [first = ""] = (await startOf(file, 0)).split("\n");
  const { version, timestamp } = JSON.parse(first) as { readonly version?: unknown; readonly timestamp?: unknown };
  if (version !== 2 || typeof timestamp !== "number") throw new Error("the file that was found is no recording");
  const event = /^\[(?<seconds>[0-9.]+),/.exec(await startOf(file, await endOfLine(file, bytes - 1)));
  return { began: timestamp, last: Number(event?.groups?.seconds ?? 0) };
}

async function startOf(file: FileHandle, at: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(LINE_START), 0, LINE_START, at);
  return buffer.toString("utf8", 0, bytesRead);
}
