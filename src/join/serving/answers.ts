import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../kernel/refusal.ts";

type Fields = Readonly<Record<string, string | number>>;

/**
 * JSON, or for a shell that asks for `text/plain` one line a field: the name, a blank, and the value in base64, so that
 * no value can end its line or mean anything to the shell.
 */
export function send(request: IncomingMessage, response: ServerResponse, status: number, fields: Fields): void {
  const isText = request.headers.accept === "text/plain";
  const body = isText
    ? Object.entries(fields).map(([name, value]) => `${name} ${Buffer.from(String(value)).toString("base64")}\n`)
    : [`${JSON.stringify(fields)}\n`];
  const type = isText ? "text/plain; charset=us-ascii" : "application/json";
  sendBody(response, status, { "content-type": type }, body.join(""));
}

export function sendBody(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  const common = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  response.writeHead(status, { ...common, ...headers, "content-length": Buffer.byteLength(body) }).end(body);
}

/** What is left of the request's body is not read: its connection ends. */
export function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { status, code, message, retryAfterSeconds } = refusal;
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
  if (!request.complete) response.setHeader("connection", "close");
  send(request, response, status, { code, message });
}

/** @throws Refusal when it is longer than `limit` */
export async function bodyOf(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = new Refusal(413, "TOO_LARGE", "too-large", `the body has more than ${limit} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
