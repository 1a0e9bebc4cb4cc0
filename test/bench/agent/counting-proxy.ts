import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Count {
  readonly requests: number;
  /** As on the socket: with request line and headers, without TLS. */
  readonly bytes: number;
}

/** Stands between the agent and the platform, and counts what the agent sends, by path. */
export class CountingProxy {
  readonly #server: Server;
  readonly #counts = new Map<string, { requests: number; bytes: number }>();

  private constructor(target: number) {
    this.#server = createServer((incoming, outgoing) => {
      const { method = "", url = "", headers, socket } = incoming;
      const path = (url.split("?")[0] ?? "").replaceAll(/\/[a-z]+_\w+/g, "/{id}");
      let bytes = `${method} ${url} HTTP/1.1\r\n\r\n`.length;
      for (const text of incoming.rawHeaders) bytes += Buffer.byteLength(text) + 2;
      incoming.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      incoming.on("end", () => {
        const count = this.#counts.get(path) ?? { requests: 0, bytes: 0 };
        count.requests += 1;
        count.bytes += bytes;
        this.#counts.set(path, count);
      });
      const onward = request({ host: "127.0.0.1", port: target, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("error", () => outgoing.destroy()).pipe(outgoing);
      });
      onward.on("error", () => socket.destroy());
      outgoing.on("close", () => onward.destroy());
      incoming.pipe(onward);
    });
  }

  static async open(target: number): Promise<CountingProxy> {
    const proxy = new CountingProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Of all paths that begin so. */
  sent(prefix: string): Count {
    const found = [...this.#counts].filter(([path]) => path.startsWith(prefix)).map(([, count]) => count);
    const sum = (of: "requests" | "bytes"): number => found.reduce((total, count) => total + count[of], 0);
    return { requests: sum("requests"), bytes: sum("bytes") };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
