import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import type { Transport, WireAnswer, WireRequest } from "./transport.ts";

/** TCP and TLS must stand by then: undici's own limit. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Idle sockets are closed before a load balancer does it with a request on the way. Also undici's. */
const KEEP_ALIVE_MS = 4_000;

/**
 * For commands that people type, which pay for what they load: undici takes longer to load than the rest of a command.
 * It goes through no proxy.
 */
export function nodeTransport(clock: Clock): Transport {
  const agents = new Map<string, Agent>();
  return {
    send(request, signal) {
      const { protocol } = request.url;
      const { Agent } = clientOf(protocol);
      const agent = agents.get(protocol) ?? new Agent({ keepAlive: true, timeout: KEEP_ALIVE_MS });
      agents.set(protocol, agent);
      return sent(request, agent, clock, signal);
    },
    async close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

/** Not by `import`: that also loads Node's fetch and WebSocket, which `node:http` hands on, for 60 ms of CPU. */
function clientOf(protocol: string) {
  return protocol === "https:" ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");
}

function sent(
  { method, url, headers, body }: WireRequest,
  agent: Agent,
  clock: Clock,
  signal: AbortSignal,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    // Said here, because Node sends the body of a DELETE without its length.
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const { request } = clientOf(url.protocol);
    const outgoing = request(url, { method, headers: { ...headers, ...length }, agent, signal });
    // Stays to the end: an error after the answer has begun is the body's too.
    outgoing.on("error", reject);
    outgoing.once("response", (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: wholly(answer) });
    });
    // Also after an answer that switches to another protocol, of which Node tells nothing else.
    outgoing.once("close", () => reject(failure("ECONNRESET", "closed without an answer")));
    limitConnecting(outgoing, url, clock);
    outgoing.end(body);
  });
}

/**
 * Ends two turns of the event loop after the answer: by then the end of the connection has come too, where the server closes it
 * without a word. The next request would else go out on it, be lost, and not be repeatable.
 */
async function* wholly(answer: IncomingMessage): AsyncGenerator<Buffer> {
  yield* answer;
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The caller's limit is for the whole exchange: half a minute, which a host that drops packets would use up. */
function limitConnecting(outgoing: ClientRequest, { protocol }: URL, clock: Clock): void {
  const cancel = clock.after(CONNECT_TIMEOUT_MS, () => {
    outgoing.destroy(failure("ETIMEDOUT", "no connection in time"));
  });
  for (const end of ["error", "close"]) outgoing.once(end, cancel);
  outgoing.once("socket", (socket) => {
    if (outgoing.reusedSocket) cancel();
    else socket.once(protocol === "https:" ? "secureConnect" : "connect", cancel);
  });
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
