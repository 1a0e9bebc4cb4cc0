import type { Http2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { isWhole } from "../../debug-link/cut-stream.ts";

export class BrokenOff extends Error {
  override readonly name = "BrokenOff";

  constructor() {
    super("the connection was broken off");
  }
}

/**
 * Gives each chunk to `take`, one after the other, and resolves at the end that the other side meant.
 *
 * Not `pipeline` or an iterator: Node closes an HTTP/2 stream before it says that all was written or read, which both take
 * for a loss; and it says `end` of a stream that was reset.
 *
 * @throws BrokenOff; what `take` throws
 */
export function drainInto(
  source: Readable | Http2Stream,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let taken = Promise.resolve();
    let hasEnded = false;
    const finish = (): void => {
      const isDone = hasEnded && (!("rstCode" in source) || isWhole(source));
      taken.then(() => (isDone ? resolve() : reject(new BrokenOff())), reject);
    };
    const onData = (chunk: Buffer): void => {
      source.pause();
      taken = taken.then(() => take(chunk)).then(() => void source.resume());
      taken.catch((error: unknown) => {
        // What still comes is its user's: with this listener it would stay paused for ever.
        source.off("data", onData);
        reject(error);
      });
    };
    source.on("data", onData);
    source.once("end", () => {
      hasEnded = true;
      finish();
    });
    source.once("error", reject);
    source.once("close", finish);
    if (source.destroyed) finish();
  });
}

/** Resolves when more may be written. @throws BrokenOff */
export async function write(target: Writable, chunk: Buffer): Promise<void> {
  if (target.destroyed || target.writableEnded) throw new BrokenOff();
  if (target.write(chunk)) return;
  await new Promise<void>((resolve, reject) => {
    const drained = (): void => {
      target.off("close", gone);
      resolve();
    };
    const gone = (): void => {
      target.off("drain", drained);
      reject(new BrokenOff());
    };
    target.once("drain", drained);
    target.once("close", gone);
  });
}
