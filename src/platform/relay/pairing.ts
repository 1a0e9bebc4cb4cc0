import type { RawData, WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import type { Holder } from "../areas/debug-sessions/holders.ts";
import type { RelaySide } from "../database/tables/debug-sessions.ts";
import { Pipe } from "./pipe.ts";

/** §19.3. */
const PING_EVERY_MS = 20_000;
const MAX_MISSED_PONGS = 2;
const REATTACH_MS = 60_000;
/** Limit without a byte from the client. */
const IDLE_MS = 15 * 60_000;
/** A side that does not answer the close frame within this time is disconnected. */
const CLOSE_GRACE_MS = 2_000;
/** Frames that end the session are small; larger frames are not parsed. */
const CONTROL_MAX_BYTES = 1024;
/** RFC 6455: the relay accepts only text frames. */
const UNSUPPORTED_DATA = 1003;

/** Why a session's sockets are closed: the close code, and the reason in the record. */
export type Ending = CloseReason | "restart";

const CODES: Readonly<Record<Ending, number>> = {
  client: RELAY_CLOSE_CODES.done,
  agent: RELAY_CLOSE_CODES.done,
  idle: RELAY_CLOSE_CODES.idle,
  expired: RELAY_CLOSE_CODES.expired,
  killed: RELAY_CLOSE_CODES.killed,
  revoked: RELAY_CLOSE_CODES.killed,
  "tunnel-lost": RELAY_CLOSE_CODES.lost,
  restart: RELAY_CLOSE_CODES.restart,
};

interface Side {
  readonly socket: WebSocket;
  readonly holder: Holder;
  readonly stopPings: () => void;
}

export interface PairingOptions {
  readonly expiresAt: Date;
  readonly clock: Clock;
  /** Both sides are connected for the first time. */
  onPaired(): void;
  /** Called once, after both sockets have closed. `tunnelled`: the cluster's side was connected. */
  onEnded(ending: Ending, tunnelled: boolean): void;
}

const other = (side: RelaySide): RelaySide => (side === "attach" ? "tunnel" : "attach");

/** The two sockets of one session. Copies frames between them and closes them together. */
export class Pairing {
  readonly #options: PairingOptions;
  readonly #sides = new Map<RelaySide, Side>();
  /** By the side that receives the frames. */
  readonly #pipes: Readonly<Record<RelaySide, Pipe>>;
  readonly #timers = new Map<string, () => void>();
  #lastClientMs: number;
  #paired = false;
  #tunnelled = false;
  #ending: Promise<void> | undefined;

  constructor(options: PairingOptions) {
    this.#options = options;
    this.#pipes = { attach: this.#pipe("attach"), tunnel: this.#pipe("tunnel") };
    this.#lastClientMs = options.clock.monotonicMs();
    this.expireAt(options.expiresAt);
    this.#watchIdle(IDLE_MS);
  }

  get holders(): readonly Holder[] {
    return [...this.#sides.values()].map(({ holder }) => holder);
  }

  expireAt(at: Date): void {
    const { clock } = this.#options;
    const leftMs = at.getTime() - clock.wallNow().getTime();
    // Timers may fire early, and reach at most 24 days: so the time is compared again here.
    this.#timer("expiry", Math.max(leftMs, 0), () => {
      if (clock.wallNow() >= at) void this.end("expired");
      else this.expireAt(at);
    });
  }

  /** Connects a socket. A second socket of the same side replaces the first. */
  join(side: RelaySide, socket: WebSocket, holder: Holder, wasPaired: boolean): void {
    if (this.#ending !== undefined) {
      socket.close(RELAY_CLOSE_CODES.killed);
      return;
    }
    const before = this.#sides.get(side);
    before?.stopPings();
    before?.socket.close(RELAY_CLOSE_CODES.replaced);
    this.#sides.set(side, { socket, holder, stopPings: this.#ping(socket) });
    if (side === "tunnel") this.#tunnelled = true;
    else this.#lastClientMs = this.#options.clock.monotonicMs();
    this.#cancel(`lost ${side}`);
    socket.on("message", (data, isBinary) => this.#onFrame(side, socket, data, isBinary));
    socket.on("close", (code) => this.#onClose(side, socket, code));
    // The frame was too large, or not WebSocket; the close event that follows is handled.
    socket.on("error", () => undefined);
    this.#pipes[side].connect(socket);
    if (this.#pipes[other(side)].isFull) socket.pause();
    if (this.#sides.size === 2) {
      if (!this.#paired) this.#options.onPaired();
      this.#paired = true;
    } else if (wasPaired || this.#paired) {
      this.#awaitSide(other(side));
    }
  }

  /** Closes both sockets and resolves when both are closed. Only the first reason counts. */
  end(ending: Ending): Promise<void> {
    this.#ending ??= this.#end(ending);
    return this.#ending;
  }

  async #end(ending: Ending): Promise<void> {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    const closings = [...this.#sides.values()].map((side) => this.#shut(side, CODES[ending]));
    await Promise.all(closings);
    this.#sides.clear();
    this.#options.onEnded(ending, this.#tunnelled);
  }

  async #shut({ socket, stopPings }: Side, code: number): Promise<void> {
    stopPings();
    if (socket.readyState === socket.CLOSED) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("close", () => resolve());
    // A paused socket would not read the answer to the close frame.
    socket.resume();
    socket.close(code);
    const cancel = this.#options.clock.after(CLOSE_GRACE_MS, () => socket.terminate());
    await promise;
    cancel();
  }

  #onFrame(side: RelaySide, socket: WebSocket, data: RawData, isBinary: boolean): void {
    if (this.#ending !== undefined || this.#sides.get(side)?.socket !== socket) return;
    if (isBinary) {
      socket.close(UNSUPPORTED_DATA);
      return;
    }
    const frame = toBuffer(data);
    if (side === "attach") this.#lastClientMs = this.#options.clock.monotonicMs();
    this.#pipes[other(side)].push(frame);
    if (isClose(frame)) void this.end(side === "attach" ? "client" : "agent");
  }

  #onClose(side: RelaySide, socket: WebSocket, code: number): void {
    const current = this.#sides.get(side);
    if (this.#ending !== undefined || current?.socket !== socket) return;
    current.stopPings();
    this.#sides.delete(side);
    this.#pipes[side].disconnect();
    if (code === RELAY_CLOSE_CODES.done) void this.end(side === "attach" ? "client" : "agent");
    else this.#awaitSide(side);
  }

  #awaitSide(side: RelaySide): void {
    this.#timer(`lost ${side}`, REATTACH_MS, () => void this.end(side === "attach" ? "client" : "tunnel-lost"));
  }

  #watchIdle(delayMs: number): void {
    this.#timer("idle", delayMs, () => {
      const leftMs = this.#lastClientMs + IDLE_MS - this.#options.clock.monotonicMs();
      if (leftMs <= 0) void this.end("idle");
      else this.#watchIdle(leftMs);
    });
  }

  #pipe(to: RelaySide): Pipe {
    return new Pipe((isFull) => {
      const source = this.#sides.get(other(to))?.socket;
      if (isFull) source?.pause();
      else source?.resume();
    });
  }

  /** A paused socket reads no pongs either, so missing pongs are not counted then. */
  #ping(socket: WebSocket): () => void {
    let missed = 0;
    let cancel = (): void => undefined;
    const again = (): void => {
      cancel = this.#options.clock.after(PING_EVERY_MS, () => {
        if (socket.isPaused) missed = 0;
        if (missed >= MAX_MISSED_PONGS) return socket.terminate();
        missed += 1;
        if (socket.readyState === socket.OPEN) socket.ping();
        again();
      });
    };
    socket.on("pong", () => {
      missed = 0;
    });
    again();
    return () => cancel();
  }

  #timer(name: string, delayMs: number, task: () => void): void {
    this.#cancel(name);
    if (this.#ending !== undefined) return;
    const run = (): void => {
      this.#timers.delete(name);
      task();
    };
    this.#timers.set(name, this.#options.clock.after(delayMs, run));
  }

  #cancel(name: string): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** True for `{"type":"close",…}`, the only frame that the platform interprets. */
function isClose(frame: Buffer): boolean {
  if (frame.length > CONTROL_MAX_BYTES) return false;
  try {
    const parsed: unknown = JSON.parse(frame.toString());
    return typeof parsed === "object" && parsed !== null && "type" in parsed && parsed.type === "close";
  } catch {
    // Not JSON: leave it to the receiving side.
    return false;
  }
}
