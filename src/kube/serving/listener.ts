import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

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
/** Of one client. Else any pod could take all, and the kubelet, which then finds no room, would restart the process. */
const MAX_CONNECTIONS_OF_ONE = 64;

/**
 * Starts and ends an HTTP or HTTPS server. It keeps the sockets on which nothing was asked yet, because Node counts them
 * neither as idle nor as busy: without that, `close` would wait for them.
 */
export class Listener {
  readonly #server: Server;
  readonly #address: ListenAddress;
  /** By the client's address and port, which a socket and the TLS socket on it have in common. */
  readonly #silent = new Map<string, Socket>();
  /** Connections by the client's address. */
  readonly #counts = new Map<string, number>();

  constructor(server: Server, address: ListenAddress) {
    this.#server = server;
    this.#address = address;
    server.setTimeout(address.silenceMs ?? SILENCE_MS);
    server.maxConnections = MAX_CONNECTIONS;
    server.on("request", ({ socket }) => this.#silent.delete(clientOf(socket)));
    server.on("connection", (socket: Socket) => {
      if (!this.#admit(socket)) {
        socket.destroy();
        return;
      }
      const client = clientOf(socket);
      this.#silent.set(client, socket);
      socket.once("close", () => this.#silent.delete(client));
    });
  }

  #admit(socket: Socket): boolean {
    const { remoteAddress: address = "" } = socket;
    const count = this.#counts.get(address) ?? 0;
    if (count >= MAX_CONNECTIONS_OF_ONE) return false;
    this.#counts.set(address, count + 1);
    socket.once("close", () => {
      const left = (this.#counts.get(address) ?? 1) - 1;
      if (left > 0) this.#counts.set(address, left);
      else this.#counts.delete(address);
    });
    return true;
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
      for (const socket of this.#silent.values()) socket.destroy();
    });
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function isInternetAddress(address: string | AddressInfo | null): address is AddressInfo {
  return address !== null && typeof address === "object";
}
