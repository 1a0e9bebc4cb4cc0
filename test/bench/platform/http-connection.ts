import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * One keep-alive connection with one request at a time. It does as little work as possible, because the generator
 * shares its machine with the measured program.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #waiting: PromiseWithResolvers<HttpAnswer> | undefined;
  #closed: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server closed the connection")));
  }

  /** @param localAddress spreads many connections over the ports of several loopback addresses. */
  static open(port: number, localAddress = "127.0.0.1"): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, localAddress, noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new HttpConnection(socket));
      });
    });
  }

  request(text: string): Promise<HttpAnswer> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.#waiting !== undefined) return Promise.reject(new Error("one request at a time"));
    this.#waiting = Promise.withResolvers<HttpAnswer>();
    this.#socket.write(text);
    return this.#waiting.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#received.toString("latin1", 0, headEnd);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const end = headEnd + 4 + length;
    if (this.#received.length < end) return;
    const body = this.#received.toString("utf8", headEnd + 4, end);
    this.#received = this.#received.subarray(end);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), body });
  }

  #fail(error: Error): void {
    this.#closed ??= error;
    this.#socket.destroy();
    this.#waiting?.reject(this.#closed);
    this.#waiting = undefined;
  }
}

export interface RequestForm {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body?: string;
}

export function requestText({ method, path, key, body }: RequestForm): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const length = Buffer.byteLength(body);
  return `${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
}
