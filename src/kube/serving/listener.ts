import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ConnectionPlaces } from "../../base/connection-places.ts";

export interface ListenAddress {
  /** 0: any free port. */
  readonly port: number;
  /** Default: all addresses, IPv6 and IPv4. */
  readonly host?: string | undefined;
  /** How long a connection may carry no byte. Default: 10,000. */
  readonly silenceMs?: number | undefined;
}

/** Limits for every server here: a client that sends slowly is cut. */
export const SERVER_LIMITS = { requestTimeout: 10_000, headersTimeout: 10_000 } as const;
/** Node's limits above begin with the first byte. A connection on which none comes costs memory until this one. */
const SILENCE_MS = 10_000;
/** About 40 KB each with TLS, so that all of them fit beside the process's own memory. */
const MAX_CONNECTIONS = 1_024;
/** Of one network. Else any pod could take all, and the kubelet, which then finds no room, would restart the process. */
const MAX_CONNECTIONS_OF_ONE = 64;

/**
 * Starts and ends an HTTP or HTTPS server, in which strangers who say nothing take no place from who asks.
 */
export class Listener {
  readonly #server: Server;
  readonly #address: ListenAddress;
  readonly #places = new ConnectionPlaces({ all: MAX_CONNECTIONS, ofOne: MAX_CONNECTIONS_OF_ONE });

  constructor(server: Server, address: ListenAddress) {
    this.#server = server;
    this.#address = address;
    server.setTimeout(address.silenceMs ?? SILENCE_MS);
    server.on("connection", (socket: Socket) => this.#places.admit(socket));
    server.on("request", ({ socket }, response) => {
      this.#places.began(socket);
      response.once("close", () => this.#places.ended(socket));
    });
  }

  /** The port listened on. @throws Error before `listen`. */
  get port(): number {
    const address = this.#server.address();
    if (!isInternetAddress(address)) throw new Error("the server is not listening");
    return address.port;
  }

  /** @throws Error `EADDRINUSE` and the like. */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ port: this.#address.port, host: this.#address.host }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  /** Answers what has been asked, then closes. Idle keep-alive connections are cut. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      // Its only error is "not running", which is what was asked for.
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
      this.#places.destroyNew();
    });
  }
}

function isInternetAddress(address: string | AddressInfo | null): address is AddressInfo {
  return address !== null && typeof address === "object";
}
