import { type IncomingMessage, type OutgoingHttpHeaders, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { PlatformError } from "../kernel/errors.ts";
import type { PlatformMetrics } from "../kernel/metrics/metrics.ts";

/**
 * Says that a replica has sent the request on, so that it is not sent on again. It gives no right: the home asks for the
 * ticket as of everybody.
 */
export const FORWARDED_HEADER = "x-sallyport-relay-forwarded";

/** Headers of the side's request that its handshake needs; the ticket is among the protocols. */
const PASSED = ["sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol"] as const;
/** Without an answer of the home in this time, the side is told to come again. */
const ANSWER_WITHIN_MS = 5_000;
/** A refusal is one error object. */
const MAX_REFUSAL_BYTES = 16 * 1024;
/** Two for each seat of the largest process; each costs two sockets and what the kernel buffers for them. */
const MAX_FORWARDS = 2_000;
const KEEP_ALIVE_MS = 30_000;
/** A socket whose other end is gone gets so long to send what it has taken. */
const FLUSH_MS = 2_000;

/** What the home said when it did not upgrade. */
export interface HomesRefusal {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
}

export interface Forwarded {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly requestId: string;
  readonly peerUrl: string;
}

/**
 * Sends a side's request to the replica that is the home of its session, and then copies bytes without reading them: the
 * home has the WebSocket, its pings and its limits. Back-pressure is TCP's, so nothing is kept here.
 */
export class Forwarder {
  readonly #clock: Clock;
  readonly #metrics: Pick<PlatformMetrics, "relayForward">;
  readonly #ends = new Set<() => void>();
  #pending = 0;

  constructor(clock: Clock, metrics: Pick<PlatformMetrics, "relayForward">) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /**
   * @returns the refusal of the home; undefined once the bytes pass.
   * @throws SERVICE_UNAVAILABLE when the home cannot be reached.
   */
  async forward(forwarded: Forwarded): Promise<HomesRefusal | undefined> {
    if (this.#ends.size + this.#pending >= MAX_FORWARDS) throw new PlatformError("SERVICE_UNAVAILABLE");
    this.#pending += 1;
    try {
      const answer = await this.#ask(forwarded);
      if (!("upstream" in answer)) {
        this.#metrics.relayForward("refused");
        return answer;
      }
      this.#metrics.relayForward("connected");
      this.#join(forwarded, answer);
      return undefined;
    } catch (error) {
      this.#metrics.relayForward("unreachable");
      throw new PlatformError("SERVICE_UNAVAILABLE", {
        message: "the replica with the other side of this session does not answer",
        cause: error,
      });
    } finally {
      this.#pending -= 1;
    }
  }

  /** The sides come back elsewhere. */
  close(): void {
    for (const end of this.#ends) end();
  }

  #ask({ request, socket, requestId, peerUrl }: Forwarded): Promise<Upgraded | HomesRefusal> {
    const { promise, resolve, reject } = Promise.withResolvers<Upgraded | HomesRefusal>();
    const url = new URL(`${peerUrl}${request.url ?? ""}`);
    const start = url.protocol === "https:" ? tlsRequest : plainRequest;
    const asked = start(url, { agent: false, headers: headersFor(request, requestId) });
    const cancel = this.#clock.after(ANSWER_WITHIN_MS, () => asked.destroy(new Error("no answer in time")));
    const onGone = (): void => void asked.destroy(new Error("the side is gone"));
    socket.once("close", onGone);
    asked.on("upgrade", (response, upstream, head) => resolve({ response, upstream, head }));
    asked.on("response", (response) => void refusalOf(response).then(resolve, reject));
    asked.on("error", reject);
    asked.end();
    return promise.finally(() => {
      cancel();
      socket.off("close", onGone);
    });
  }

  #join({ socket, head }: Forwarded, { response, upstream, head: first }: Upgraded): void {
    const end = (): void => {
      socket.destroy();
      upstream.destroy();
    };
    this.#ends.add(end);
    let open = 2;
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      (one as Socket).setNoDelay?.(true).setTimeout(0).setKeepAlive(true, KEEP_ALIVE_MS);
      one.on("error", end);
      one.on("close", () => {
        open -= 1;
        if (open === 0) this.#ends.delete(end);
        if (other.destroyed) return;
        other.end();
        other.once("close", this.#clock.after(FLUSH_MS, end));
      });
    }
    const lines = response.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : [],
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
    socket.write(first);
    upstream.write(head);
    socket.pipe(upstream);
    upstream.pipe(socket);
  }
}

interface Upgraded {
  readonly response: IncomingMessage;
  readonly upstream: Duplex;
  readonly head: Buffer;
}

function headersFor({ headers }: IncomingMessage, requestId: string): OutgoingHttpHeaders {
  const passed = PASSED.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
  return {
    ...Object.fromEntries(passed),
    connection: "Upgrade",
    upgrade: "websocket",
    "x-request-id": requestId,
    [FORWARDED_HEADER]: "1",
  };
}

async function refusalOf(response: IncomingMessage): Promise<HomesRefusal> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REFUSAL_BYTES) throw new Error("the home's answer is too long");
    chunks.push(chunk);
  }
  const { statusCode = 0, headers } = response;
  return { status: statusCode, retryAfter: headers["retry-after"], body: Buffer.concat(chunks) };
}
