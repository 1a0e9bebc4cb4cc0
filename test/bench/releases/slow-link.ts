import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP connection through it takes `delayMs` longer each way. Its rate has no limit. */
export class SlowLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number, delayMs: number) {
    this.#server = createServer({ noDelay: true }, (near) => {
      const far = connect({ host: "127.0.0.1", port: target, noDelay: true });
      this.#join(near, far, delayMs);
      this.#join(far, near, delayMs);
    });
  }

  static async open(target: number, delayMs: number): Promise<SlowLink> {
    const link = new SlowLink(target, delayMs);
    await new Promise<void>((resolve) => link.#server.listen(0, "127.0.0.1", resolve));
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Timers of the same delay end in the order in which they began. */
  #join(from: Socket, to: Socket, delayMs: number): void {
    this.#sockets.add(from);
    from.on("data", (chunk) => setTimeout(() => to.writable && to.write(chunk), delayMs));
    from.on("end", () => setTimeout(() => to.end(), delayMs));
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      setTimeout(() => to.destroy(), delayMs);
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
