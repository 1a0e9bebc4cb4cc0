import type { Socket } from "node:net";

/** kubectl opens a connection and shows the bearer at once; as many as this never wait together. */
const MOST = 32;

/**
 * Connections to the listener that have not shown the session's bearer yet. Any user of the machine can open some: when
 * there are too many the oldest goes, so that kubectl, whose first request follows at once, always has a place.
 */
export class UnprovenConnections {
  readonly #sockets = new Map<string, Socket>();

  /** @param socket of TCP, before any TLS */
  add(socket: Socket): void {
    const name = nameOf(socket);
    this.#sockets.set(name, socket);
    socket.once("close", () => {
      if (this.#sockets.get(name) === socket) this.#sockets.delete(name);
    });
    if (this.#sockets.size <= MOST) return;
    const [oldest] = this.#sockets.values();
    oldest?.destroy();
  }

  /** @param socket of the same connection, of TCP or of TLS */
  proven(socket: Socket): void {
    this.#sockets.delete(nameOf(socket));
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
