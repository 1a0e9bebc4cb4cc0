import type { WebSocket } from "ws";
import { RELAY_BUFFER_MAX_BYTES } from "../../contract/debug-sessions/debug-relay.ts";

interface Frame {
  readonly data: Buffer;
  /** Given to the current socket, which has not confirmed it yet. */
  sent: boolean;
}

/**
 * One direction of a session. Delivers frames in order and keeps each one until a socket has taken it, so that frames
 * of a lost socket go to the next one. At the bound the pipe pauses its source; what the source has already read still
 * arrives, so the buffer may exceed the bound by one read.
 */
export class Pipe {
  /** Oldest first; those already sent come first. */
  readonly #frames: Frame[] = [];
  readonly #onPressure: (isFull: boolean) => void;
  #bytes = 0;
  #isFull = false;
  #out: WebSocket | undefined;

  constructor(onPressure: (isFull: boolean) => void) {
    this.#onPressure = onPressure;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(data: Buffer): void {
    const frame: Frame = { data, sent: false };
    this.#frames.push(frame);
    this.#bytes += data.length;
    if (this.#out !== undefined) this.#send(this.#out, frame);
    this.#judge();
  }

  connect(socket: WebSocket): void {
    this.disconnect();
    this.#out = socket;
    for (const frame of this.#frames) this.#send(socket, frame);
  }

  disconnect(): void {
    this.#out = undefined;
    for (const frame of this.#frames) frame.sent = false;
  }

  #send(socket: WebSocket, frame: Frame): void {
    frame.sent = true;
    socket.send(frame.data, { binary: false }, (error) => {
      // Sockets take frames in order, so this must be the first. A failed send is repeated on the next socket.
      if (error != null || this.#out !== socket || this.#frames[0] !== frame) return;
      this.#frames.shift();
      this.#bytes -= frame.data.length;
      this.#judge();
    });
  }

  /** Full above the bound, free again below half of it, so that the source is not paused and resumed for each frame. */
  #judge(): void {
    const isFull = this.#bytes > (this.#isFull ? RELAY_BUFFER_MAX_BYTES / 2 : RELAY_BUFFER_MAX_BYTES);
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#onPressure(isFull);
  }
}
