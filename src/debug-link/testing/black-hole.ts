import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A way to a server on which bytes can begin to vanish: no end and no reset tells either side. */
export class BlackHole {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Both directions of each connection that stands. */
  readonly #ways = new Set<readonly [Socket, Socket]>();

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      const far = connect(Number(target.port), target.hostname);
      const way = [near, far] as const;
      this.#ways.add(way);
      for (const [one, other] of [way, [far, near] as const]) {
        this.#sockets.add(one);
        one.on("error", () => undefined);
        one.on("close", () => {
          this.#sockets.delete(one);
          // In the hole the other end hears of no end.
          if (this.#ways.has(way)) other.destroy();
        });
        one.on("data", (bytes) => {
          if (this.#ways.has(way)) other.write(bytes);
        });
      }
    });
  }

  static async to(target: string): Promise<BlackHole> {
    const hole = new BlackHole(new URL(target));
    hole.#server.listen(0, "127.0.0.1");
    await once(hole.#server, "listening");
    return hole;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on nothing passes on the connections that stand; new ones pass. */
  swallow(): void {
    this.#ways.clear();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }
}
