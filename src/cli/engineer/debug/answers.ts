import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type RefusalCode, statusBody } from "../../../debug-link/status-body.ts";

/** An answer of this program and not of the cluster. */
export interface OwnAnswer {
  readonly status: RefusalCode;
  readonly words: string;
}

export function answer(response: ServerResponse, own: OwnAnswer): void {
  // A client without the bearer keeps no connection.
  const isStranger = own.status === 401 || own.status === 403;
  response
    .writeHead(own.status, { ...headersOf(own), ...(isStranger && { connection: "close" }) })
    .end(statusBody(own.status, own.words));
}

/** To a request for an upgrade: kubectl reads a refusal only as a real answer, never as a closed connection. */
export function answerUpgrade(socket: Duplex, own: OwnAnswer): void {
  writeAnswer(socket, own.status, headersOf(own), Buffer.from(statusBody(own.status, own.words)));
}

/** Writes an answer of HTTP/1.1 and closes. */
export function writeAnswer(
  socket: Duplex,
  status: number,
  headers: Readonly<Record<string, string | readonly string[]>>,
  body: Buffer,
): void {
  const all = { ...headers, "content-length": String(body.length), connection: "close" };
  socket.write(headText(`HTTP/1.1 ${status} Refused`, all));
  socket.end(body);
}

export function headText(first: string, headers: Readonly<Record<string, string | readonly string[]>>): string {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return `${[first, ...lines].join("\r\n")}\r\n\r\n`;
}

function headersOf({ status }: OwnAnswer): Record<string, string> {
  return {
    "content-type": "application/json",
    "cache-control": "no-store",
    // kubectl then asks again, for ten seconds.
    ...(status === 503 && { "retry-after": "1" }),
  };
}
