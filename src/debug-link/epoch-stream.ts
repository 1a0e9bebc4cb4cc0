import { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { CONNECTION_WINDOW_BYTES } from "./inner-limits.ts";

/**
 * Frames that are sent: a relay reads each one whole before it goes on. Several records of TLS fit, each a little more than
 * 16 KiB; a frame for each costs every process on the way more than its bytes do.
 */
const FRAME_BYTES = 64 * 1024;
/** What waits in the stream itself, a direction; what its user gives beyond it is told to wait. */
const WINDOW_BYTES = 256 * 1024;
/**
 * What is taken before the socket has it: all that HTTP/2 may send at once. Node's HTTP/2 reads nothing while a write of
 * its own is under way; two ends whose writes both wait for the other to read would wait for ever.
 */
const AHEAD_BYTES = CONNECTION_WINDOW_BYTES + 1_048_576;

/**
 * The bytes of one epoch of a debug session, over a WebSocket that may carry several epochs one after the other. Slow
 * readers hold the socket back, and a slow socket holds writers back. It has no end of its own: an epoch breaks off, with
 * an error, and what it carries (TLS) knows whether it was complete.
 */
export class EpochStream extends Duplex {
  readonly #socket: WebSocket;
  /** Given to the socket, and not in the kernel yet. */
  #unsentBytes = 0;
  #goOn: (() => void) | undefined;
  /** Written in this turn of the event loop, and not given to the socket yet. */
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  #turnsEnd: NodeJS.Immediate | undefined;

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

  /** Gives the socket what was written, before something else is said on it. */
  flush(): void {
    clearImmediate(this.#turnsEnd);
    this.#turnsEnd = undefined;
    const frames = framesOf(this.#gathered);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    for (const frame of frames) {
      this.#socket.send(frame, { binary: true }, (error) => this.#sent(frame.length, error));
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (error === null) this.flush();
    else clearImmediate(this.#turnsEnd);
    // A socket that stayed paused would read no frame of the next epoch, and no close.
    this.#socket.resume();
    done(error);
  }

  /**
   * `done` comes at once while little waits for the kernel; beyond that the stream takes no more from its buffer. TLS
   * writes record by record: what one turn of the event loop brings goes out together.
   */
  #send(chunks: readonly Buffer[], done: (error?: Error | null) => void): void {
    for (const chunk of chunks) {
      this.#gathered.push(chunk);
      this.#gatheredBytes += chunk.length;
      this.#unsentBytes += chunk.length;
    }
    if (this.#gatheredBytes >= FRAME_BYTES) this.flush();
    else this.#turnsEnd ??= setImmediate(() => this.flush());
    if (this.#unsentBytes <= AHEAD_BYTES) done();
    else this.#goOn = done;
  }

  #sent(bytes: number, error: Error | null | undefined): void {
    this.#unsentBytes -= bytes;
    if (error) this.destroy(error);
    if (this.#unsentBytes > AHEAD_BYTES) return;
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.();
  }
}

/** The same bytes in as few frames as they take. */
function framesOf(chunks: readonly Buffer[]): Buffer[] {
  const frames: Buffer[] = [];
  let together: Buffer[] = [];
  let bytes = 0;
  const close = (): void => {
    const [only] = together;
    if (only !== undefined) frames.push(together.length === 1 ? only : Buffer.concat(together, bytes));
    together = [];
    bytes = 0;
  };
  for (const chunk of chunks) {
    if (bytes + chunk.length > FRAME_BYTES) close();
    for (let at = 0; at < chunk.length; at += FRAME_BYTES) {
      const part = chunk.subarray(at, at + FRAME_BYTES);
      together.push(part);
      bytes += part.length;
      if (bytes >= FRAME_BYTES) close();
    }
  }
  close();
  return frames;
}
