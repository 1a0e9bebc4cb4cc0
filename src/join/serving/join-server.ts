import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { ConnectionPlaces } from "../../base/connection-places.ts";
import { doubledHeader } from "../../base/doubled-header.ts";
import type { Logger } from "../../base/log.ts";
import type { KeyPair } from "../../kube/serving/served-certificate.ts";
import type { JoinMetrics, Rejection } from "../kernel/metrics.ts";
import { Refusal } from "../kernel/refusal.ts";
import { refuse } from "./answers.ts";
import { Limits } from "./limits.ts";

/** About 40 KB each with TLS. */
const MAX_CONNECTIONS = 1_024;
/** Of one network, which may be a gateway before many machines: half of all. */
const MAX_CONNECTIONS_OF_ONE = 512;
/** Of one network where clients are asked for certificates: each may bring 100 KB of them, which are held. */
const MAX_CONNECTIONS_WITH_CERTIFICATES = 64;
const HANDSHAKE_MS = 5_000;
const HEADERS_MS = 5_000;
/** The whole request, 16 KiB at most. */
const REQUEST_MS = 10_000;
/** A connection with nothing under way, and a client that does not read its answer. */
const IDLE_MS = 10_000;

export interface JoinServerOptions {
  readonly host: string;
  readonly port: number;
  readonly pair: KeyPair;
  /**
   * PEM of the authority that signs certificates of nodes: a client is asked for one, and served without one as well.
   * Undefined: no client is asked, because TLS reads and judges what a stranger shows before any bound of ours counts.
   */
  readonly ca: string | undefined;
  /** Answers one request. `leave` is called when it only waits from now on. @throws Refusal */
  readonly answer: (request: IncomingMessage, response: ServerResponse, visit: Visit) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<JoinMetrics, "rejected">;
}

/** One request of one address. */
export interface Visit {
  readonly address: string;
  readonly limits: Limits;
  /** Aborts when the machine is gone, or the server stops. */
  readonly signal: AbortSignal;
  /** No longer counted as in flight. */
  readonly leave: () => void;
}

/** TLS 1.3 and HTTP/1.1, with a bound on everything that a client without a token can use up. */
export class JoinServer {
  readonly #options: JoinServerOptions;
  readonly #server: Server;
  readonly #limits: Limits;
  readonly #places: ConnectionPlaces;
  readonly #closing = new AbortController();
  #pair: KeyPair;
  #ca: string | undefined;

  constructor(options: JoinServerOptions) {
    this.#options = options;
    this.#pair = options.pair;
    this.#ca = options.ca;
    this.#limits = new Limits(options.clock);
    this.#server = createServer(
      {
        ...this.#context,
        // Routes that need a client certificate look at what came of it.
        requestCert: options.ca !== undefined,
        rejectUnauthorized: false,
        handshakeTimeout: HANDSHAKE_MS,
        maxHeaderSize: 8_192,
        headersTimeout: HEADERS_MS,
        requestTimeout: REQUEST_MS,
        connectionsCheckingInterval: 1_000,
        keepAliveTimeout: IDLE_MS,
        noDelay: true,
      },
      (request, response) => void this.#answer(request, response),
    );
    const ofOne = options.ca === undefined ? MAX_CONNECTIONS_OF_ONE : MAX_CONNECTIONS_WITH_CERTIFICATES;
    this.#places = new ConnectionPlaces({ all: MAX_CONNECTIONS, ofOne }, () => options.metrics.rejected("connections"));
    this.#server.maxRequestsPerSocket = 100;
    // Before TLS: a connection that loses its place costs no handshake.
    this.#server.on("connection", (socket: Socket) => this.#places.admit(socket));
    // Also of TLS, where Node passes on what its own listener has heard.
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      const reason = rejectionOf(error.code ?? "");
      if (reason !== undefined) options.metrics.rejected(reason);
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      socket.destroy();
    });
  }

  /** @throws Error before `listen`. */
  get port(): number {
    const address: string | AddressInfo | null = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the join server is not listening");
    return address.port;
  }

  /** For connections from now on. */
  serve(pair: KeyPair): void {
    this.#pair = pair;
    this.#server.setSecureContext(this.#context);
  }

  /** For connections from now on: who signs certificates of nodes. */
  trust(ca: string): void {
    if (this.#ca === undefined) return;
    this.#ca = ca;
    this.#server.setSecureContext(this.#context);
  }

  get #context() {
    return { ...this.#pair, ...(this.#ca !== undefined && { ca: this.#ca }), minVersion: "TLSv1.3" as const };
  }

  /** @throws Error `EADDRINUSE` and the like. */
  listen(): Promise<void> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  /** What waits is answered at once; what is left after `graceMs` is cut. */
  async close(graceMs: number): Promise<void> {
    this.#closing.abort();
    const cut = this.#options.clock.after(graceMs, () => {
      this.#places.destroyAll();
    });
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
    cut();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { metrics, log } = this.#options;
    const address = request.socket.remoteAddress ?? "";
    const gone = new AbortController();
    const onGone = (): void => gone.abort(new Error("the machine is gone"));
    response.once("close", onGone);
    this.#closing.signal.addEventListener("abort", onGone, { once: true });
    let leave: () => void = () => undefined;
    const { socket } = request;
    this.#places.began(socket);
    response.once("close", () => this.#places.ended(socket));
    try {
      leave = this.#limits.enter(address);
      const twice = doubledHeader(request.rawHeaders);
      if (twice !== undefined) throw new Refusal(400, "BAD_REQUEST", "bad-request", `send the header ${twice} once`);
      await this.#options.answer(request, response, { address, limits: this.#limits, signal: gone.signal, leave });
    } catch (error) {
      if (response.destroyed || response.headersSent) return;
      if (error instanceof Refusal) {
        metrics.rejected(error.reason);
        refuse(request, response, error);
      } else {
        const isStopping = this.#closing.signal.aborted;
        if (!isStopping) log.error({ err: error }, "a machine's request failed");
        const words = isStopping ? "the join server is stopping; ask again" : "the join server failed";
        refuse(request, response, new Refusal(isStopping ? 503 : 500, "UNAVAILABLE", "failed", words, 1));
      }
    } finally {
      leave();
      this.#closing.signal.removeEventListener("abort", onGone);
    }
  }
}

/** Undefined: the client went away, which is no attack. */
function rejectionOf(code: string): Rejection | undefined {
  if (code === "ECONNRESET" || code === "EPIPE") return undefined;
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "slow";
  return code.startsWith("HPE_") ? "malformed" : "handshake";
}
