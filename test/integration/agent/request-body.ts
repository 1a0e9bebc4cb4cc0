import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";

/** The whole body as text; large reports come compressed. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return textOf(request, chunks);
}

/** The same of a body that something else reads too. */
export function textOf({ headers }: IncomingMessage, chunks: readonly Buffer[]): string {
  const body = Buffer.concat(chunks);
  return (headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString();
}
