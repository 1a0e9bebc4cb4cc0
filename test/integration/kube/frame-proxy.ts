import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { TlsOptions } from "../../../src/kube/client/credentials.ts";

/** What is done to a frame of a watch, or to an answer of another kind. */
export const FAULTS = [
  /** Never comes. Of events that is nothing that a client could see: bookmarks and the mark of initial events only. */
  "drop",
  "duplicate",
  /** Half of it, and the connection is cut. */
  "truncate",
  /** Its beginning is of no form. */
  "corrupt",
  /** It comes, and the stream is ended after it. */
  "close",
  /** Nothing comes any more, and nothing ends. */
  "stall",
  /** An ERROR event, or a refusal, in its place. */
  "gone",
  "internal",
  "busy",
  "html",
] as const;
export type FrameFault = (typeof FAULTS)[number];

const CODES: Readonly<Partial<Record<FrameFault, number>>> = { gone: 410, internal: 500, busy: 429 };

/** Stands between a client and an API server, knows their frames, and does to each what it is asked to. */
export class FrameProxy {
  readonly url: string;
  /** What is done to the next frames, in order; `undefined`: nothing. Empty: all is well. */
  readonly plan: (FrameFault | undefined)[] = [];
  /** Whether it says that it does not know of initial events, so that clients list. */
  refusesWatchList = false;
  /** Requests under way. */
  open = 0;
  readonly #server: Server;
  readonly #target: URL;
  readonly #agent: Agent;

  private constructor(server: Server, target: string, tls: TlsOptions) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#server = server;
    this.#target = new URL(target);
    this.#agent = new Agent({ keepAlive: true, ca: tls.ca, cert: tls.cert, key: tls.key });
  }

  static async start(target: string, tls: TlsOptions): Promise<FrameProxy> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = new FrameProxy(server, target, tls);
    server.on("request", (incoming, outgoing) => {
      proxy.open += 1;
      outgoing.once("close", () => {
        proxy.open -= 1;
      });
      proxy.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
    return proxy;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await new Promise((done) => this.#server.close(done));
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "GET", url = "/", headers } = incoming;
    if (this.refusesWatchList && url.includes("sendInitialEvents")) return void refuse(outgoing, 422);
    const call = request(new URL(url, this.#target), {
      method,
      agent: this.#agent,
      headers: { ...headers, host: this.#target.host },
    });
    outgoing.once("close", () => call.destroy());
    call.on("error", () => outgoing.destroy());
    call.end(await buffer(incoming));
    const [answer] = (await once(call, "response")) as [IncomingMessage];
    answer.on("error", () => outgoing.destroy());
    const isStream = url.includes("watch=true") && answer.statusCode === 200;
    await (isStream ? this.#stream(answer, outgoing) : this.#whole(answer, outgoing));
  }

  async #whole(answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(answer);
    const fault = this.plan.shift();
    const code = fault && CODES[fault];
    const type = answer.headers["content-type"] ?? "application/json";
    if (code !== undefined) return void refuse(outgoing, code);
    if (fault === "stall") return;
    if (fault === "html") return void outgoing.writeHead(200, { "content-type": "text/html" }).end("<html>");
    outgoing.writeHead(answer.statusCode ?? 502, { "content-type": type, "content-length": body.length });
    if (fault === "corrupt") outgoing.end(Buffer.alloc(body.length, 0xff));
    else if (fault === "truncate" || fault === "drop" || fault === "close") {
      outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
    } else outgoing.end(body);
  }

  async #stream(answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const type = answer.headers["content-type"] ?? "application/json";
    const isProtobuf = type.includes("protobuf");
    outgoing.writeHead(200, { "content-type": type });
    outgoing.flushHeaders();
    let pending = Buffer.alloc(0);
    let isStalled = false;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      pending = Buffer.concat([pending, chunk]);
      for (let frame = cut(pending, isProtobuf); frame !== undefined; frame = cut(pending, isProtobuf)) {
        pending = pending.subarray(frame.length);
        if (isStalled) continue;
        isStalled = this.#frame(frame, isProtobuf, outgoing) === "stalled";
        if (outgoing.destroyed || outgoing.writableEnded) return;
      }
    }
    if (!isStalled) outgoing.end();
  }

  #frame(frame: Buffer, isProtobuf: boolean, outgoing: ServerResponse): "stalled" | undefined {
    const fault = this.plan.shift();
    switch (fault) {
      case "stall":
        return "stalled";
      case "drop":
        if (!frame.includes("BOOKMARK")) outgoing.write(frame);
        return undefined;
      case "duplicate":
        outgoing.write(Buffer.concat([frame, frame]));
        return undefined;
      case "truncate":
        outgoing.write(frame.subarray(0, frame.length / 2), () => outgoing.destroy());
        return "stalled";
      case "close":
        outgoing.end(frame);
        return undefined;
      case "corrupt":
      case "html":
        // The length, or the brace, and what follows it.
        outgoing.write(Buffer.concat([Buffer.alloc(8, isProtobuf ? 0xff : 0x3c), frame.subarray(8)]));
        return undefined;
      case "gone":
      case "internal":
      case "busy":
        // A JSON line in a stream of protobuf is garbage, which is one more fault.
        outgoing.end(errorLine(CODES[fault] ?? 500));
        return undefined;
      case undefined:
        outgoing.write(frame);
        return undefined;
    }
  }
}

function refuse(outgoing: ServerResponse, code: number): void {
  outgoing.writeHead(code, { "content-type": "application/json", "retry-after": "3600" });
  outgoing.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, message: "by the proxy" }));
}

function errorLine(code: number): string {
  const object = {
    kind: "Status",
    status: "Failure",
    code,
    message: "by the proxy",
    details: { retryAfterSeconds: 3600 },
  };
  return `${JSON.stringify({ type: "ERROR", object })}\n`;
}

/** The first whole frame. */
function cut(bytes: Buffer, isProtobuf: boolean): Buffer | undefined {
  const end = isProtobuf ? (bytes.length < 4 ? 0 : 4 + bytes.readUInt32BE(0)) : bytes.indexOf(0x0a) + 1;
  return end > 0 && end <= bytes.length ? bytes.subarray(0, end) : undefined;
}
