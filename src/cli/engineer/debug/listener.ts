import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { ClientHttp2Session } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { doubledHeader } from "../../../base/doubled-header.ts";
import { newSessionKey, samePin } from "../../../debug-link/session-key.ts";
import { answer, answerUpgrade, type OwnAnswer } from "./answers.ts";
import { forward, forwardUpgrade } from "./forward.ts";
import { UnprovenConnections } from "./unproven-connections.ts";

const HOST = "127.0.0.1";
/** Connections at once; kubectl opens one, a browser of clusters a few. */
const MAX_CONNECTIONS = 256;
/** A client that knows the session sends its request at once: one that is slower keeps a place from kubectl. */
const HEADERS_MS = 5_000;
/** With its body, which is never more than a review of kubectl's. */
const REQUEST_MS = 60_000;
/** Longer than clients keep one idle: a request on a connection that we close at the same time fails. */
const KEEP_ALIVE_MS = 120_000;

export interface ListenerOptions {
  readonly now: Date;
  /** For the handshake, and for the head of a request. Default 5 s. */
  readonly headersMs?: number;
  /** The way into the cluster; words when it is away. */
  way(): ClientHttp2Session | string;
}

export interface Listener {
  readonly url: string;
  /** What a request must carry: the kubeconfig has it. */
  readonly token: string;
  /** PEM; the listener's own certificate is the only one that the kubeconfig trusts. */
  readonly certificate: string;
  close(): Promise<void>;
}

/**
 * Where kubectl connects: HTTPS on this machine's loopback, with a key and a bearer made for the session. Other users of
 * the machine can reach the port, and so can web pages in the engineer's browser: only a request with the bearer, the
 * right `Host` and no `Origin` goes on. Some libraries (Python's websocket-client, under the `kubernetes` package) send the
 * address that they call as the `Origin` of an upgrade: no page has that one, because the listener serves none.
 */
export async function startListener({ now, way, headersMs = HEADERS_MS }: ListenerOptions): Promise<Listener> {
  const { key, certificate } = newSessionKey("sallyport debug", now, [HOST]);
  const token = randomBytes(32).toString("base64url");
  const server = createServer({
    key,
    cert: certificate,
    // No h2: upgrades are of HTTP/1.1, and one connection then carries one request at a time.
    ALPNProtocols: ["http/1.1"],
    handshakeTimeout: headersMs,
    headersTimeout: headersMs,
    requestTimeout: REQUEST_MS,
    // How often Node looks at those two.
    connectionsCheckingInterval: headersMs / 5,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const unproven = new UnprovenConnections();
  server.on("connection", (socket: Socket) => unproven.add(socket));
  let host = "";
  const refusal = ({ headers }: IncomingMessage): OwnAnswer | undefined => {
    if (headers.host !== host)
      return { status: 403, words: "the Host of a request must be the address of this listener" };
    if (headers.origin !== undefined && headers.origin !== `https://${host}`)
      return { status: 403, words: "web pages may not use a debug session" };
    const given = /^Bearer (\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
    return samePin(given, token) ? undefined : { status: 401, words: "use the kubeconfig of this debug session" };
  };
  const wayFor = (request: IncomingMessage): ClientHttp2Session | OwnAnswer => {
    const refused = doubled(request) ?? refusal(request);
    if (refused !== undefined) return refused;
    unproven.proven(request.socket);
    // The listener's own address, which is no business of the cluster.
    delete request.headers.origin;
    const found = way();
    return typeof found === "string" ? { status: 503, words: found } : found;
  };
  server.on("request", (request, response) => {
    response.on("error", () => undefined);
    const found = wayFor(request);
    if ("words" in found) answer(response, found);
    else forward(found, request, response);
  });
  const upgraded = new Set<Socket>();
  server.on("upgrade", (request, socket: Socket, head) => {
    socket.on("error", () => undefined);
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    const found = wayFor(request);
    if ("words" in found) answerUpgrade(socket, found);
    else forwardUpgrade(found, request, socket, head);
  });
  // Plain HTTP, or TLS that kubectl would not speak.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.listen(0, HOST);
  await once(server, "listening");
  host = `${HOST}:${(server.address() as AddressInfo).port}`;
  return {
    url: `https://${host}`,
    token,
    certificate,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

function doubled({ rawHeaders }: IncomingMessage): OwnAnswer | undefined {
  const twice = doubledHeader(rawHeaders);
  return twice === undefined ? undefined : { status: 400, words: `the header ${twice} stands in the request twice` };
}
