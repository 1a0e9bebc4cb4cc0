import { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** Frames that are sent: a relay reads each one whole before it goes on. */
const FRAME_BYTES = 16 * 1024;
/** What waits in the stream itself, a direction; what its user gives beyond it is told to wait. */
const WINDOW_BYTES = 256 * 1024;

/**
 * The bytes of one epoch of a debug session, over a WebSocket that may carry several epochs one after the other. Slow
 * readers hold the socket back, and a slow socket holds writers back. It has no end of its own: an epoch breaks off, with
 * an error, and what it carries (TLS) knows whether it was complete.
 */
export class EpochStream extends Duplex {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super({ readableHighWaterMark: WINDOW_BYTES, writableHighWaterMark: WINDOW_BYTES });
    this.#socket = socket;
  }

  receive(data: Buffer): void {
    if (!this.destroyed && !this.push(data)) this.#socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // A socket that stayed paused would read no frame of the next epoch, and no close.
    this.#socket.resume();
    done(error);
  }

  /** `done` comes when the last frame is in the kernel: until then the stream takes no more from its buffer. */
  #send(chunks: readonly Buffer[], done: (error?: Error | null) => void): void {
    const frames = chunks.flatMap(framesOf);
    if (frames.length === 0) done();
    const last = frames.length - 1;
    frames.forEach((frame, at) => {
      // An error of an earlier frame is the socket's, so the last one has it too.
      this.#socket.send(frame, { binary: true }, at === last ? (error) => done(error ?? null) : undefined);
    });
  }
}

function framesOf(chunk: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < chunk.length; at += FRAME_BYTES) frames.push(chunk.subarray(at, at + FRAME_BYTES));
  return frames;
}
