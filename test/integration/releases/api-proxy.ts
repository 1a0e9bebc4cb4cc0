import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";

/** A write that the API server has answered. */
export interface ApiWrite {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly isDryRun: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: what a process under test has sent.
  readonly body: any;
  // biome-ignore lint/suspicious/noExplicitAny: what the API server has answered.
  readonly answer: any;
  readonly status: number;
}

/** Stands between a process and the API server. A test learns of each write before the process has its answer. */
export class ApiProxy {
  readonly url: string;
  answered: (write: ApiWrite) => Promise<void> = async () => undefined;
  readonly #server: Server;
  readonly #agent: Agent;
  #isClosed = false;

  private constructor(server: Server, port: number, agent: Agent) {
    this.url = `http://127.0.0.1:${port}`;
    this.#server = server;
    this.#agent = agent;
  }

  static async start(target: string, ca: string): Promise<ApiProxy> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const agent = new Agent({ keepAlive: true, ca });
    const proxy = new ApiProxy(server, address.port, agent);
    server.on("request", (incoming, outgoing) => {
      proxy.#pass(new URL(incoming.url ?? "/", target), incoming, outgoing).catch(() => outgoing.destroy());
    });
    return proxy;
  }

  /** From now on nothing of the process reaches the API server: to that, it has been killed. */
  close(): void {
    this.#isClosed = true;
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #pass(url: URL, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "GET", headers } = incoming;
    const body = await text(incoming);
    if (this.#isClosed) return;
    const call = request(url, { method, agent: this.#agent, headers: { ...headers, host: url.host } });
    outgoing.once("close", () => call.destroy());
    // One listener for the life of the call: a watch is destroyed with its client.
    call.on("error", () => outgoing.destroy());
    call.end(body);
    const [answer] = (await once(call, "response")) as [IncomingMessage];
    const { statusCode: status = 0 } = answer;
    if (method === "GET") {
      outgoing.writeHead(status, answer.headers);
      answer.pipe(outgoing);
      return;
    }
    const answered = await text(answer);
    const isDryRun = url.searchParams.has("dryRun");
    const [sent, got] = [parsed(body), parsed(answered)];
    await this.answered({ method, path: url.pathname, isDryRun, body: sent, answer: got, status });
    if (outgoing.destroyed) return;
    const { "transfer-encoding": _chunked, ...kept } = answer.headers;
    outgoing.writeHead(status, { ...kept, "content-length": Buffer.byteLength(answered) });
    outgoing.end(answered);
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
