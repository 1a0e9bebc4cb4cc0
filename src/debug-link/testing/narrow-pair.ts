import type { WebSocket } from "ws";
import { EpochStream } from "../epoch-stream.ts";

/** An end of a WebSocket without buffers: a frame is sent when the other end has taken it, which a paused one does not. */
class NarrowSocket {
  other: NarrowSocket | undefined;
  stream: EpochStream | undefined;
  #isPaused = false;
  readonly #waiting: (() => void)[] = [];

  send(frame: Buffer, _options: unknown, sent: () => void = () => undefined): void {
    this.other?.take(() => {
      this.other?.stream?.receive(frame);
      sent();
    });
  }

  take(frame: () => void): void {
    this.#waiting.push(frame);
    this.#look();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#look();
  }

  #look(): void {
    setImmediate(() => {
      while (!this.#isPaused) {
        const next = this.#waiting.shift();
        if (next === undefined) return;
        next();
      }
    });
  }
}

/** Both ends of an epoch on a way that holds nothing by itself, as behind a slow proxy. */
export function narrowPair(): { readonly near: EpochStream; readonly far: EpochStream } {
  const [one, other] = [new NarrowSocket(), new NarrowSocket()];
  [one.other, other.other] = [other, one];
  const over = (socket: NarrowSocket): EpochStream => {
    socket.stream = new EpochStream(socket as unknown as WebSocket);
    return socket.stream;
  };
  return { near: over(one), far: over(other) };
}
