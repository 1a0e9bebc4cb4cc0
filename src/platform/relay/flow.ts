import type { WebSocket } from "ws";
import { RELAY_WINDOW_BYTES } from "../../contract/debug-sessions/debug-relay.ts";

/** What a message that waits takes beside its bytes: a megabyte of messages of one byte, or of none, is a gigabyte. */
const MESSAGE_BYTES = 1_024;

/**
 * One direction of a session, for as long as both of its sockets live. Gives bytes on in order and keeps none: at the
 * bound it stops reading its source. What the source has already read still arrives, so the bound may be exceeded by one
 * read.
 */
export class Flow {
  readonly #from: WebSocket;
  readonly #to: WebSocket;
  #waiting = 0;
  #isEnded = false;

  constructor(from: WebSocket, to: WebSocket) {
    this.#from = from;
    this.#to = to;
  }

  push(data: Buffer): void {
    if (this.#isEnded) return;
    const bytes = data.length + MESSAGE_BYTES;
    this.#waiting += bytes;
    this.#to.send(data, { binary: true }, () => {
      // An error here is the socket's end, which its close event tells.
      this.#waiting -= bytes;
      if (!this.#isEnded && this.#from.isPaused && this.#waiting <= RELAY_WINDOW_BYTES / 2) this.#from.resume();
    });
    if (this.#waiting > RELAY_WINDOW_BYTES) this.#from.pause();
  }

  /** A source that stayed paused would read no frame of the next epoch, and no close. */
  end(): void {
    this.#isEnded = true;
    this.#from.resume();
  }
}
