import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { cutStream, isWhole } from "../../../debug-link/cut-stream.ts";
import { connectHeaders, UPGRADE_METHODS, upgradedHeaders, withoutHops } from "../../../debug-link/upgrade-wire.ts";
import { answer, answerUpgrade, headText, writeAnswer } from "./answers.ts";

/** Of an answer that refuses an upgrade: a Status is far smaller. */
const REFUSAL_MAX_BYTES = 64 * 1024;
const KEEP_ALIVE_MS = 30_000;
const GONE = "kubectl has gone away";
const LOST = "the connection to the cluster was lost; try again";

/** Sends a request through the tunnel. What breaks off there is reset here: kubectl must never take it for the end. */
export function forward(session: ClientHttp2Session, request: IncomingMessage, response: ServerResponse): void {
  const { method = "GET", url = "/", headers } = request;
  const own = { ":method": method, ":path": url, ":scheme": "https", ":authority": "kubernetes" };
  const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  const stream = session.request({ ...withoutHops(headers), ...own }, { endStream: !hasBody });
  stream.on("response", (answered) => {
    response.writeHead(Number(answered[":status"]), withoutHops(answered));
    // Or kubectl would see nothing of a watch before its first event.
    response.flushHeaders();
    stream.on("data", (chunk: Buffer) => {
      if (!response.write(chunk)) stream.pause();
    });
    response.on("drain", () => stream.resume());
  });
  const finished = (): void => {
    if (response.writableEnded || response.destroyed) return;
    if (!response.headersSent) answer(response, { status: 502, words: LOST });
    else if (isWhole(stream)) response.end();
    else response.destroy();
  };
  stream.on("end", finished);
  stream.on("error", finished);
  stream.on("close", finished);
  response.on("close", () => {
    if (!response.writableFinished) cutStream(stream, GONE);
  });
  request.on("error", () => cutStream(stream, GONE));
  if (hasBody) request.pipe(stream);
}

/** Sends an upgrade through the tunnel, and then its bytes in both directions. */
export function forwardUpgrade(
  session: ClientHttp2Session,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const { method, url = "/", headers } = request;
  const upgrade = (headers.upgrade ?? "").toLowerCase();
  if (!Object.hasOwn(UPGRADE_METHODS, upgrade) || UPGRADE_METHODS[upgrade] !== method) {
    answerUpgrade(socket, { status: 400, words: "a debug session upgrades to WebSocket or SPDY/3.1 only" });
    return;
  }
  // Either side may end first.
  socket.allowHalfOpen = true;
  socket.setNoDelay(true);
  socket.setTimeout(0);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const stream = session.request(connectHeaders(url, upgrade, headers), { endStream: false });
  let answered = false;
  stream.on("response", (from) => {
    answered = true;
    const status = Number(from[":status"]);
    if (status === 200) {
      socket.write(headText("HTTP/1.1 101 Switching Protocols", upgradedHeaders(from)));
      if (head.length > 0) stream.write(head);
      join(stream, socket);
    } else refuse(stream, status, from, socket);
  });
  stream.on("error", () => undefined);
  stream.on("close", () => {
    if (!answered) answerUpgrade(socket, { status: 502, words: LOST });
  });
  socket.on("close", () => cutStream(stream, GONE));
}

function join(stream: ClientHttp2Stream, socket: Socket): void {
  socket.pipe(stream);
  stream.on("data", (chunk: Buffer) => {
    if (!socket.write(chunk)) stream.pause();
  });
  socket.on("drain", () => stream.resume());
  const finished = (): void => {
    if (socket.destroyed || socket.writableEnded) return;
    // A whole end goes out after the last byte; a broken one is a reset.
    if (isWhole(stream)) socket.end();
    else socket.destroy();
  };
  stream.on("end", finished);
  stream.on("close", finished);
}

function refuse(stream: ClientHttp2Stream, status: number, from: IncomingHttpHeaders, socket: Socket): void {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= REFUSAL_MAX_BYTES) chunks.push(chunk);
  });
  stream.once("close", () => writeAnswer(socket, status, withoutHops(from), Buffer.concat(chunks)));
  stream.end();
}
