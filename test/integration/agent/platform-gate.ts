import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { textOf } from "./request-body.ts";

/** How the gate treats requests of the agent. */
export type Passage =
  | "open"
  /** Cuts connections without an answer. */
  | "down"
  /** Behaves as an older platform: the work feed does not exist. */
  | "no-feed";

/** One whole request of the agent, as it would leave the cluster. */
export interface HeardRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface HeardAnswer {
  /** `METHOD /path`. */
  readonly line: string;
  readonly status: number;
  /** From the request. */
  readonly authorization: string | undefined;
}

/** A proxy in front of the platform, so that it can go away and come back at the same address. */
export class PlatformGate {
  passage: Passage = "open";
  /** `METHOD /path` of everything that passed. */
  readonly passed: string[] = [];
  /** Called with each request once its body has passed. */
  onHeard: ((request: HeardRequest) => void) | undefined;
  /** Functions that replace the platform's answer, by path. */
  readonly lies = new Map<string, (answer: unknown) => unknown>();
  /** Called with each answer of the platform. */
  onAnswered: ((answer: HeardAnswer) => void) | undefined;
  readonly #server: Server;
  readonly #target: URL;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
    this.#server.on("upgrade", (incoming: IncomingMessage, socket: Socket) => this.#upgrade(incoming, socket));
    // So that a test's end does not wait for a long-poll.
    this.#server.keepAliveTimeout = 1_000;
  }

  static async open(target: string): Promise<PlatformGate> {
    const gate = new PlatformGate(target);
    await new Promise<void>((resolve) => gate.#server.listen(0, "127.0.0.1", resolve));
    return gate;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Also cuts requests that are under way. */
  set(passage: Passage): void {
    this.passage = passage;
    this.#server.closeAllConnections();
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const path = (incoming.url ?? "").split("?")[0] ?? "";
    if (this.passage === "down") {
      incoming.socket.destroy();
      return;
    }
    if (this.passage === "no-feed" && path.endsWith("/work")) {
      outgoing.writeHead(404, { "content-type": "application/json" });
      outgoing.end(
        JSON.stringify({ code: "ROUTE_NOT_FOUND", message: "no such path", retryable: false, internal: false }),
      );
      return;
    }
    this.passed.push(`${incoming.method} ${path}`);
    this.#hear(incoming);
    const { hostname, port } = this.#target;
    const options = { hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers };
    const onward = request(options, (answer) => {
      const { authorization } = incoming.headers;
      this.onAnswered?.({ line: `${incoming.method} ${path}`, status: answer.statusCode ?? 0, authorization });
      this.#answer(path, answer, outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }

  /** Passes on as it is; it has no body. */
  #upgrade({ method = "", url: target = "", headers, rawHeaders }: IncomingMessage, socket: Socket): void {
    this.onHeard?.({ method, target, headers, body: "" });
    const onward = connect(Number(this.#target.port), this.#target.hostname);
    const fields = rawHeaders.map((each, at) => (at % 2 === 0 ? `${each}: ` : `${each}\r\n`)).join("");
    onward.write(`${method} ${target} HTTP/1.1\r\n${fields}\r\n`);
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  }

  #hear(incoming: IncomingMessage): void {
    const { onHeard } = this;
    if (onHeard === undefined) return;
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url: target = "", headers } = incoming;
      onHeard({ method, target, headers, body: textOf(incoming, chunks) });
    });
  }

  #answer(path: string, answer: IncomingMessage, outgoing: ServerResponse): void {
    const lie = this.lies.get(path);
    const { "content-length": _, ...headers } = answer.headers;
    answer.on("error", () => outgoing.destroy());
    if (lie === undefined || answer.statusCode !== 200) {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      return;
    }
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("end", () => {
      outgoing.writeHead(200, headers);
      outgoing.end(JSON.stringify(lie(JSON.parse(Buffer.concat(chunks).toString()))));
    });
  }
}
