import type { Agent } from "node:http";
import { type ClientOptions, type RawData, WebSocket } from "ws";
import type { Clock, Random } from "../base/clock.ts";
import {
  RELAY_CLOSE_CODES,
  RELAY_CLOSE_GRACE_MS,
  RELAY_CONTROL_FRAMES,
  RELAY_CONTROL_MAX_BYTES,
  RELAY_FRAME_MAX_BYTES,
  RELAY_MESSAGE_MAX_FRAGMENTS,
  RELAY_MESSAGE_MAX_READS,
  RELAY_MISSED_PONGS,
  RELAY_PING_MS,
  RELAY_PONG_MS,
  RELAY_PROTOCOL,
  RELAY_TICKET_PREFIX,
} from "../contract/debug-sessions/debug-relay.ts";
import type { CloseReason } from "../contract/debug-sessions/debug-sessions.ts";
import { type RelayFrame, readRelayFrame, type SideFrame } from "../contract/debug-sessions/relay-frames.ts";
import { EpochStream } from "./epoch-stream.ts";

/** The handshake, first byte to last. */
const CONNECT_MS = 15_000;
/** Either way, so that the pings of many sessions do not come together. */
const PING_JITTER_MS = 2_000;

export interface Epoch {
  /** Counted by the relay, from 1, per socket ever larger. */
  readonly epoch: number;
  /** Destroyed with an error when the other side or the socket is lost. Destroying it asks for a new epoch. */
  readonly stream: EpochStream;
  /** Aborts when the stream is closed. */
  readonly signal: AbortSignal;
}

export interface RelaySocketOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** For a proxy. */
  readonly agent?: Agent;
  /** PEM of the authorities to trust, instead of Node's. */
  readonly ca?: string;
  onEpoch(epoch: Epoch): void;
  /** When the session ends at the latest, as the relay says. */
  onUntil?(at: Date): void;
  /** True once this side ends the session: a stream that is given up then asks for no new epoch, and the word still follows. */
  isEnding?(): boolean;
}

export type SocketEnd =
  | { readonly is: "closed"; readonly code: number; readonly reason: CloseReason | undefined }
  | { readonly is: "lost"; readonly why: string };

/** One WebSocket to the relay, from its handshake to its close. */
export class RelaySocket {
  readonly ended: Promise<SocketEnd>;
  readonly #socket: WebSocket;
  readonly #options: RelaySocketOptions;
  readonly #cancels: (() => void)[] = [];
  #cancelPing: () => void = () => undefined;
  #cancelPong: () => void = () => undefined;
  #current: { readonly stream: EpochStream; readonly epoch: number } | undefined;
  #lastEpoch = 0;
  #missedPongs = 0;
  #controlFrames = 0;
  #said: CloseReason | undefined;
  /** Why it was lost: the first word counts. */
  #why: string | undefined;

  constructor(url: string, ticket: string, options: RelaySocketOptions) {
    const { agent, ca, clock } = options;
    this.#options = options;
    const more: ClientOptions = { ...(agent && { agent }), ...(ca !== undefined && { ca }) };
    this.#socket = new WebSocket(url, [RELAY_PROTOCOL, `${RELAY_TICKET_PREFIX}${ticket}`], {
      ...more,
      perMessageDeflate: false,
      generateMask: noMask,
      maxPayload: RELAY_FRAME_MAX_BYTES,
      maxFragments: RELAY_MESSAGE_MAX_FRAGMENTS,
      maxBufferedChunks: RELAY_MESSAGE_MAX_READS,
      followRedirects: false,
    });
    this.ended = this.#listen();
    this.#cancels.push(clock.after(CONNECT_MS, () => this.#lose("the relay did not answer")));
  }

  /** Says why, and lets the relay close both sides. */
  end(reason: CloseReason): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) {
      socket.terminate();
      return;
    }
    this.#said ??= reason;
    // Given up from here on: a stream that its user destroys now must not take the socket down before the word is out.
    const stream = this.#current?.stream;
    this.#current = undefined;
    stream?.flush();
    this.#tell({ type: "close", reason });
    stream?.destroy();
    // A paused socket would not read the relay's close.
    socket.resume();
    this.#leaveSoon();
  }

  /** Goes without a word: for the relay the session goes on. */
  leave(): void {
    this.#lose("this side has left");
  }

  #listen(): Promise<SocketEnd> {
    const socket = this.#socket;
    socket.on("open", () => {
      for (const cancel of this.#cancels.splice(0)) cancel();
      this.#schedulePing();
    });
    socket.on("message", (data, isBinary) => {
      this.#heard();
      if (isBinary) this.#current?.stream.receive(toBuffer(data));
      else this.#read(toBuffer(data));
    });
    socket.on("pong", () => this.#heard());
    // The close event follows.
    socket.on("error", (error) => {
      this.#why ??= error.message;
    });
    const { promise, resolve } = Promise.withResolvers<SocketEnd>();
    socket.once("close", (code) => {
      this.#cancelPing();
      this.#cancelPong();
      for (const cancel of this.#cancels.splice(0)) cancel();
      const isLost = this.#said === undefined && (code === ABNORMAL || code === RELAY_CLOSE_CODES.refused);
      const why = this.#why ?? "the connection was lost";
      this.#part(why);
      resolve(isLost ? { is: "lost", why } : { is: "closed", code, reason: this.#said });
    });
    return promise;
  }

  #read(data: Buffer): void {
    this.#controlFrames += 1;
    const isTooMuch = data.length > RELAY_CONTROL_MAX_BYTES || this.#controlFrames > RELAY_CONTROL_FRAMES;
    const frame = isTooMuch ? undefined : readRelayFrame(data.toString());
    if (frame === undefined || !this.#take(frame)) this.#refuse();
  }

  /** False for a frame that the relay may not say now. */
  #take(frame: RelayFrame): boolean {
    switch (frame.type) {
      case "peer":
        return this.#begin(frame.epoch);
      case "gone":
        this.#part("the other side was lost");
        return true;
      case "until": {
        const at = new Date(frame.at);
        // The format knows leap seconds, Date does not: as a number such a time compares with nothing, and ends nothing.
        if (Number.isNaN(at.getTime())) return false;
        this.#options.onUntil?.(at);
        return true;
      }
      case "close":
        this.#said = frame.reason;
        this.#part(`the session has ended: ${frame.reason}`);
        this.#close(RELAY_CLOSE_CODES.done);
        return true;
    }
  }

  #begin(epoch: number): boolean {
    if (epoch <= this.#lastEpoch || this.#said !== undefined) return false;
    this.#lastEpoch = epoch;
    this.#part("the other side has come back: what was on its way is lost");
    const stream = new EpochStream(this.#socket);
    const over = new AbortController();
    // Its user listens; one that has already gone must not end the process.
    stream.on("error", () => undefined);
    stream.once("close", () => {
      over.abort();
      const isWanted = this.#current?.stream === stream && this.#options.isEnding?.() !== true;
      if (isWanted) this.#lose("its user gave the stream up");
    });
    this.#current = { stream, epoch };
    this.#tell({ type: "ready", epoch });
    this.#options.onEpoch({ epoch, stream, signal: over.signal });
    return true;
  }

  /** Ends the epoch: nothing of it goes to the next one. */
  #part(why: string): void {
    const stream = this.#current?.stream;
    this.#current = undefined;
    stream?.destroy(new Error(why));
  }

  #tell(frame: SideFrame): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  #refuse(): void {
    this.#why ??= "the relay said what is not in the protocol";
    this.#part(this.#why);
    this.#close(RELAY_CLOSE_CODES.refused);
  }

  #close(code: number): void {
    this.#socket.close(code);
    this.#leaveSoon();
  }

  #leaveSoon(): void {
    this.#cancels.push(this.#options.clock.after(RELAY_CLOSE_GRACE_MS, () => this.#socket.terminate()));
  }

  #lose(why: string): void {
    this.#why ??= why;
    this.#socket.terminate();
  }

  #schedulePing(): void {
    const { clock, random } = this.#options;
    this.#cancelPing = clock.after(RELAY_PING_MS + (2 * random() - 1) * PING_JITTER_MS, () => {
      const socket = this.#socket;
      this.#controlFrames = 0;
      // A paused socket reads no pongs either, so missing ones are not counted then.
      if (socket.isPaused) this.#heard();
      this.#missedPongs += 1;
      if (socket.readyState === socket.OPEN) socket.ping();
      if (this.#missedPongs >= RELAY_MISSED_PONGS) this.#awaitPong();
      this.#schedulePing();
    });
  }

  #awaitPong(): void {
    this.#cancelPong();
    this.#cancelPong = this.#options.clock.after(RELAY_PONG_MS, () => {
      if (!this.#socket.isPaused) this.#lose("the relay no longer answers");
    });
  }

  /** What comes late, behind bytes on a slow way, is an answer too. */
  #heard(): void {
    this.#missedPongs = 0;
    this.#cancelPong();
  }
}

/**
 * RFC 6455 section 10.3 masks what a browser sends, so that a web page cannot choose the bytes that a proxy on the way
 * sees. Here no page writes, and the bytes are those of the inner TLS, which no side can choose. A key of zeros, which
 * every reader understands, spares this process and the relay a pass over all of them.
 */
function noMask(key: Buffer): void {
  key.fill(0);
}

/** RFC 6455: there was no close frame. */
const ABNORMAL = 1006;

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
