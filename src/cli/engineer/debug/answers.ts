import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** An answer of this program and not of the cluster, in the form that kubectl prints in words. */
export interface OwnAnswer {
  readonly status: 400 | 401 | 403 | 502 | 503;
  readonly words: string;
}

const REASONS = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  502: "BadGateway",
  503: "ServiceUnavailable",
} as const;

export function answer(response: ServerResponse, own: OwnAnswer): void {
  response.writeHead(own.status, headersOf(own)).end(bodyOf(own));
}

/** To a request for an upgrade: kubectl reads a refusal only as a real answer, never as a closed connection. */
export function answerUpgrade(socket: Duplex, own: OwnAnswer): void {
  writeAnswer(socket, own.status, headersOf(own), Buffer.from(bodyOf(own)));
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

function bodyOf({ status, words }: OwnAnswer): string {
  const reason = REASONS[status];
  const message = `sallyport: ${words}`;
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code: status,
  });
}
