import type { WebSocket } from "ws";
import { RELAY_BUFFER_MAX_BYTES } from "../../contract/debug-sessions/debug-relay.ts";

interface Frame {
  readonly data: Buffer;
  /** Given to the current socket, which has not taken it yet. */
  sent: boolean;
}

/**
 * One direction of a session: frames in order, each until a socket has taken it. What a lost socket had not taken goes
 * to the next one. At the bound the source is paused; what it had already read still comes, so the bound may be passed
 * by one read of its socket.
 */
export class Pipe {
  /** Oldest first; those sent are at the front. */
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
      // Taken in order, so the first one is this one; a failed send waits for the next socket.
      if (error != null || this.#out !== socket || this.#frames[0] !== frame) return;
      this.#frames.shift();
      this.#bytes -= frame.data.length;
      this.#judge();
    });
  }

  /** Full above the bound, free again below half of it: not each frame stops and starts a socket. */
  #judge(): void {
    const isFull = this.#bytes > (this.#isFull ? RELAY_BUFFER_MAX_BYTES / 2 : RELAY_BUFFER_MAX_BYTES);
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#onPressure(isFull);
  }
}
