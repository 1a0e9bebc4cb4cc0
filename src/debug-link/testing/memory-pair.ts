import { Duplex } from "node:stream";

const PIECE = 16_384;

/** One end of a connection in memory that counts what it carries. */
export class MemoryEnd extends Duplex {
  /** Bytes that came from the other end. */
  received = 0;
  #other: MemoryEnd | undefined;
  #onRead: (() => void) | undefined;

  static pair(): readonly [MemoryEnd, MemoryEnd] {
    const [one, other] = [new MemoryEnd(), new MemoryEnd()];
    [one.#other, other.#other] = [other, one];
    for (const end of [one, other]) end.on("error", () => undefined);
    return [one, other];
  }

  /** In a later turn of the event loop: Node's HTTP/2 aborts the process when bytes come inside of its own write. */
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    setImmediate(() => {
      const other = this.#other;
      // What the other end does not read is never said to be written, as in a socket.
      if (other === undefined || other.destroyed || this.destroyed) return;
      other.received += chunk.length;
      let isTaken = true;
      // In pieces, as they come from a socket.
      for (let at = 0; at < chunk.length; at += PIECE) isTaken = other.push(chunk.subarray(at, at + PIECE));
      if (isTaken) done();
      else other.#onRead = done;
    });
  }

  override _read(): void {
    const onRead = this.#onRead;
    this.#onRead = undefined;
    onRead?.();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    setImmediate(() => this.#other?.destroy());
    done(error);
  }
}
