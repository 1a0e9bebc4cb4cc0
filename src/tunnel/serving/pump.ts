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
 * Gives each chunk to `take`, one after the other, and resolves at the end that the other side meant. The source is
 * paused only while `take` is not done with a chunk: pausing and resuming it for each costs more than most chunks do.
 *
 * Not `pipeline` or an iterator: Node closes an HTTP/2 stream before it says that all was written or read, which both take
 * for a loss; and it says `end` of a stream that was reset.
 *
 * @param take undefined: it is done with the chunk.
 * @throws BrokenOff; what `take` throws
 */
export function drainInto(
  source: Readable | Http2Stream,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let underWay: Promise<void> | undefined;
    let hasEnded = false;
    const finish = (): void => {
      const isDone = hasEnded && (!("rstCode" in source) || isWhole(source));
      const done = (): void => (isDone ? resolve() : reject(new BrokenOff()));
      if (underWay === undefined) done();
      else underWay.then(done, reject);
    };
    const fail = (error: unknown): void => {
      // What still comes is its user's. Unpaused, a source that has always more would never let anything else run.
      source.off("data", onData);
      source.pause();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      try {
        const taking = underWay === undefined ? take(chunk) : underWay.then(() => take(chunk));
        if (taking === undefined) return;
        source.pause();
        const taken = taking.then(() => {
          if (underWay !== taken) return;
          underWay = undefined;
          source.resume();
        });
        underWay = taken;
        taken.catch(fail);
      } catch (error) {
        fail(error);
      }
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

/**
 * What one turn of the event loop brings is written together: TLS and HTTP/2 give it in records of 16 KiB, and a write for
 * each costs more than its bytes do.
 *
 * @returns undefined: more may be written at once; else resolves when it may. @throws BrokenOff
 */
export function write(target: Writable, chunk: Buffer): Promise<void> | undefined {
  if (target.destroyed || target.writableEnded) throw new BrokenOff();
  if (target.writableCorked === 0) {
    target.cork();
    setImmediate(() => target.uncork());
  }
  if (target.write(chunk)) return undefined;
  return new Promise<void>((resolve, reject) => {
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
