import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Clock } from "../../base/clock.ts";
import {
  CONNECTION_WINDOW_BYTES,
  HANDSHAKE_MS,
  HEADER_LIST_BYTES,
  STREAM_WINDOW_BYTES,
} from "../../debug-link/inner-limits.ts";
import { hasPin, type SessionKey } from "../../debug-link/session-key.ts";
import type { RequestHandler } from "./request-handler.ts";

export interface SessionServerOptions {
  readonly key: SessionKey;
  /** SHA-256 of the engineer's public key, from the session's spec. */
  readonly clientPin: string;
  readonly handler: Pick<RequestHandler, "handle">;
  readonly clock: Clock;
  /** The other end of an epoch has proved that it has the session's key. */
  readonly onAttached: () => void;
  readonly onPinMismatch: () => void;
}

const MAX_STREAMS = 256;
/** Node's unit is a million bytes. */
const MAX_MEMORY = 8;
/** Resets at once, and how many more a second: above it Node closes the connection. */
const RESETS = { streamResetBurst: 100, streamResetRate: 10 };
const GRACE_MS = 2_000;

/** TLS 1.3 and HTTP/2 on the bytes of one epoch after the other, for one engineer whose key is known. */
export class SessionServer {
  readonly #options: SessionServerOptions;
  #session: ServerHttp2Session | undefined;
  #stream: Duplex | undefined;

  constructor(options: SessionServerOptions) {
    this.#options = options;
  }

  /** Takes the bytes of an epoch, in place of the one before. */
  attach(stream: Duplex): void {
    this.cut();
    this.#stream = stream;
    // TLS over a Duplex does not notice that the Duplex has ended.
    stream.once("close", () => {
      if (this.#stream === stream) this.cut();
    });
    stream.on("error", () => undefined);
    this.#serverOf(stream).emit("connection", stream);
  }

  /** Ends everything, at once. */
  cut(): void {
    const [session, stream] = [this.#session, this.#stream];
    this.#session = undefined;
    this.#stream = undefined;
    session?.destroy();
    stream?.destroy();
  }

  /** Takes no more requests, and ends what is under way after two seconds. */
  async end(): Promise<void> {
    const session = this.#session;
    if (session !== undefined && !session.destroyed) {
      const closed = new Promise<void>((done) => session.once("close", () => done()));
      session.close();
      const late = Promise.withResolvers<void>();
      const cancel = this.#options.clock.after(GRACE_MS, () => late.resolve());
      await Promise.race([closed, late.promise]);
      cancel();
    }
    this.cut();
  }

  /** Each epoch has a server of its own: a handshake that fails late must not end the epoch that came after it. */
  #serverOf(stream: Duplex): Http2SecureServer {
    const { key, certificate: cert } = this.#options.key;
    const server = createSecureServer({
      ...{ key, cert, minVersion: "TLSv1.3", ALPNProtocols: ["h2"] },
      // The certificate is signed by itself: the pin says whose it is, and TLS that its key is there.
      ...{ requestCert: true, rejectUnauthorized: false, handshakeTimeout: HANDSHAKE_MS },
      ...{
        maxSessionMemory: MAX_MEMORY,
        maxOutstandingPings: 10,
        maxSettings: 32,
        maxSessionInvalidFrames: 100,
        ...RESETS,
      },
      settings: {
        enableConnectProtocol: true,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxConcurrentStreams: MAX_STREAMS,
        maxHeaderListSize: HEADER_LIST_BYTES,
      },
    });
    server.on("session", (session) => this.#begin(session, stream));
    server.on("stream", (each, headers) => this.#serve(each, headers));
    for (const event of ["error", "sessionError", "tlsClientError", "unknownProtocol"]) {
      server.on(event, (...args: readonly unknown[]) => this.#fail(args, stream));
    }
    return server;
  }

  #begin(session: ServerHttp2Session, stream: Duplex): void {
    session.on("error", () => undefined);
    if (this.#stream !== stream) {
      session.destroy();
      return;
    }
    const { clientPin, onAttached, onPinMismatch } = this.#options;
    if (!isPeer(session, clientPin)) {
      session.destroy();
      this.cut();
      onPinMismatch();
      return;
    }
    this.#session = session;
    // Takes effect only once the local settings stand.
    session.once("localSettings", () => {
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    session.once("close", () => {
      if (this.#session === session) this.cut();
    });
    onAttached();
  }

  #serve(stream: ServerHttp2Stream, headers: Readonly<Record<string, string | readonly string[] | undefined>>): void {
    stream.on("error", () => undefined);
    if (stream.session !== this.#session) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    // Never rejects.
    else void this.#options.handler.handle(stream, headers);
  }

  #fail(args: readonly unknown[], stream: Duplex): void {
    for (const each of args) if (each instanceof TLSSocket) each.destroy();
    if (this.#stream === stream) this.cut();
  }
}

/** A connection that is gone has no socket any more, and to ask for it throws. */
function isPeer(session: ServerHttp2Session, pin: string): boolean {
  return !session.destroyed && hasPin(session.socket, pin);
}
