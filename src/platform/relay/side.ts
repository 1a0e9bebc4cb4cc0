import type { RawData, WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import {
  RELAY_CLOSE_CODES,
  RELAY_CLOSE_GRACE_MS,
  RELAY_CONTROL_FRAMES,
  RELAY_CONTROL_MAX_BYTES,
  RELAY_MISSED_PONGS,
  RELAY_PING_MS,
  RELAY_PONG_MS,
} from "../../contract/debug-sessions/debug-relay.ts";
import { type RelayFrame, readSideFrame, type SideFrame } from "../../contract/debug-sessions/relay-frames.ts";
import type { Holder } from "../areas/debug-sessions/holders.ts";

export interface SideEvents {
  onBytes(side: Side, data: Buffer): void;
  onFrame(side: Side, frame: SideFrame): void;
  onClose(side: Side, code: number): void;
}

/** One socket of a session: reads its frames, pings it, and ends it when it breaks the rules. */
export class Side {
  readonly socket: WebSocket;
  readonly holder: Holder;
  /** The epoch that its bytes belong to, by its own word. Relay.pairing drops those of another. */
  epoch = 0;
  readonly #clock: Clock;
  #missedPongs = 0;
  #controlFrames = 0;
  #cancelPing: () => void;
  #cancelPong: () => void = () => undefined;

  constructor(socket: WebSocket, holder: Holder, clock: Clock, events: SideEvents) {
    this.socket = socket;
    this.holder = holder;
    this.#clock = clock;
    socket.on("message", (data, isBinary) => {
      this.#heard();
      if (isBinary) events.onBytes(this, toBuffer(data));
      else this.#read(toBuffer(data), (frame) => events.onFrame(this, frame));
    });
    socket.on("close", (code) => {
      this.#cancelPing();
      this.#cancelPong();
      events.onClose(this, code);
    });
    // The frame was too large, or not WebSocket; the close event that follows is handled.
    socket.on("error", () => undefined);
    socket.on("pong", () => this.#heard());
    this.#cancelPing = this.#schedulePing();
  }

  tell(frame: RelayFrame): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(frame));
  }

  /** Resolves when the socket is closed. */
  async close(code: number): Promise<void> {
    this.#cancelPing();
    this.#cancelPong();
    const { socket } = this;
    if (socket.readyState === socket.CLOSED) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("close", () => resolve());
    // A paused socket would not read the answer to the close frame.
    socket.resume();
    socket.close(code);
    const cancel = this.#clock.after(RELAY_CLOSE_GRACE_MS, () => socket.terminate());
    await promise;
    cancel();
  }

  #read(data: Buffer, use: (frame: SideFrame) => void): void {
    this.#controlFrames += 1;
    const isTooMuch = data.length > RELAY_CONTROL_MAX_BYTES || this.#controlFrames > RELAY_CONTROL_FRAMES;
    const frame = isTooMuch ? undefined : readSideFrame(data.toString());
    if (frame === undefined) this.socket.close(RELAY_CLOSE_CODES.refused);
    else use(frame);
  }

  #schedulePing(): () => void {
    return this.#clock.after(RELAY_PING_MS, () => {
      const { socket } = this;
      this.#controlFrames = 0;
      // A paused socket reads no pongs either, so missing pongs are not counted then.
      if (socket.isPaused) this.#heard();
      this.#missedPongs += 1;
      if (socket.readyState === socket.OPEN) socket.ping();
      if (this.#missedPongs >= RELAY_MISSED_PONGS) this.#awaitPong();
      this.#cancelPing = this.#schedulePing();
    });
  }

  #awaitPong(): void {
    this.#cancelPong();
    this.#cancelPong = this.#clock.after(RELAY_PONG_MS, () => {
      if (!this.socket.isPaused) this.socket.terminate();
    });
  }

  /** What comes late, behind bytes on a slow way, is an answer too. */
  #heard(): void {
    this.#missedPongs = 0;
    this.#cancelPong();
  }
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
