import type { EventEmitter } from "node:events";
import { networkOf } from "./network-of.ts";

export interface PlaceLimits {
  /** Connections at once. */
  readonly all: number;
  /** Of one network: an address, or a /64 of IPv6. */
  readonly ofOne: number;
}

/** What this uses of a socket, of TCP or of the TLS on it: both have the same client. */
export interface PlacedSocket extends Pick<EventEmitter, "once"> {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  destroy(): unknown;
}

/** new: nothing was asked on it yet. idle: what was asked is answered. */
type Use = "new" | "idle" | "busy";

interface Place {
  readonly socket: PlacedSocket;
  readonly network: string;
  use: Use;
}

/**
 * Who has a connection to a server, before any TLS. A server that turned away the newest when it is full could be shut by
 * strangers who say nothing. Here the oldest on which nothing was asked goes, of the network that has most of them; then the
 * oldest that is answered. What is being answered stays, and only when all are, the newest finds no place.
 */
export class ConnectionPlaces {
  readonly #limits: PlaceLimits;
  readonly #onRefused: () => void;
  /** By client, the oldest first. */
  readonly #places = new Map<string, Place>();

  /** @param onRefused called for each connection that loses its place, or gets none */
  constructor(limits: PlaceLimits, onRefused: () => void = () => undefined) {
    this.#limits = limits;
    this.#onRefused = onRefused;
  }

  /** False: there is no place, and the socket is destroyed. */
  admit(socket: PlacedSocket): boolean {
    const client = clientOf(socket);
    const network = networkOf(socket.remoteAddress ?? "");
    const ofOne = [...this.#places].filter(([, place]) => place.network === network);
    const crowd = ofOne.length >= this.#limits.ofOne ? ofOne : [...this.#places];
    const isFull = crowd === ofOne || this.#places.size >= this.#limits.all;
    const leaves = isFull ? this.#leaving(crowd) : undefined;
    if (isFull) this.#onRefused();
    if (leaves !== undefined) {
      this.#places.delete(leaves[0]);
      leaves[1].socket.destroy();
    } else if (isFull) {
      socket.destroy();
      return false;
    }
    const place: Place = { socket, network, use: "new" };
    this.#places.set(client, place);
    socket.once("close", () => {
      // The port may be another connection's by now.
      if (this.#places.get(client) === place) this.#places.delete(client);
    });
    return true;
  }

  /** Something is asked on it, until `ended`. */
  began(socket: PlacedSocket): void {
    this.#use(socket, "busy");
  }

  ended(socket: PlacedSocket): void {
    this.#use(socket, "idle");
  }

  /** Connections on which nothing was ever asked: Node counts them neither as idle nor as busy. */
  destroyNew(): void {
    for (const { socket, use } of this.#places.values()) if (use === "new") socket.destroy();
  }

  destroyAll(): void {
    for (const { socket } of this.#places.values()) socket.destroy();
  }

  #use(socket: PlacedSocket, use: Use): void {
    const place = this.#places.get(clientOf(socket));
    if (place !== undefined) place.use = use;
  }

  #leaving(crowd: readonly (readonly [string, Place])[]): readonly [string, Place] | undefined {
    for (const use of ["new", "idle"] as const) {
      const some = crowd.filter(([, place]) => place.use === use);
      const counts = new Map<string, number>();
      for (const [, { network }] of some) counts.set(network, (counts.get(network) ?? 0) + 1);
      const most = Math.max(...counts.values());
      const found = some.find(([, { network }]) => counts.get(network) === most);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function clientOf({ remoteAddress, remotePort }: PlacedSocket): string {
  return `${remoteAddress} ${remotePort}`;
}
