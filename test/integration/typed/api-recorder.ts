import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import { buffer } from "node:stream/consumers";
import type { ApiCredentials } from "../../../lab/cluster/api-request.ts";

/** A write as it was sent. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly contentType: string;
  /** Its text when it is no JSON. */
  readonly body: unknown;
}

/** Stands before the API server as one user, without TLS, and keeps what is written. */
export class ApiRecorder implements Disposable {
  readonly sent: Sent[] = [];
  readonly #server: Server = createServer();
  readonly #agent: Agent;
  readonly #target: string;

  constructor({ server, ca, certificate: cert, key }: ApiCredentials) {
    this.#target = server;
    this.#agent = new Agent({ keepAlive: true, ca, ...(cert && { cert }), ...(key && { key }) });
    this.#server.on("request", (incoming, outgoing) => {
      this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  /** Returns its address. */
  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return `http://127.0.0.1:${address.port}`;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", this.#target);
    const { method = "GET", headers } = incoming;
    const body = await buffer(incoming);
    if (method !== "GET") {
      const query = Object.fromEntries(url.searchParams);
      const contentType = headers["content-type"] ?? "";
      this.sent.push({ method, path: url.pathname, query, contentType, body: parsed(body.toString()) });
    }
    const call = request(url, { method, agent: this.#agent, headers: { ...headers, host: url.host } });
    call.end(body);
    const [answer] = (await once(call, "response")) as [IncomingMessage];
    outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(outgoing);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
