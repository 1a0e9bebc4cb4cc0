import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { drainInto } from "./pump.ts";

const MAX_BODY = 65_536;

export class TooLarge extends Error {
  override readonly name = "TooLarge";
}

/** @throws TooLarge; BrokenOff */
export async function bodyOf(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  await drainInto(stream, (part) => {
    bytes += part.length;
    if (bytes > MAX_BODY) throw new TooLarge(`a body of more than ${MAX_BODY} bytes`);
    parts.push(part);
    return undefined;
  });
  return Buffer.concat(parts);
}

const REVIEWS = ["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SelfSubjectReview"];
/** How Kubernetes marks an object in protobuf. */
const PROTOBUF = Buffer.from("k8s\0");

/** The path says which review it is, and the server refuses another; this keeps out what is no object at all. */
export function isReview(body: Buffer): boolean {
  if (body.subarray(0, PROTOBUF.length).equals(PROTOBUF)) return true;
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && "kind" in value && REVIEWS.includes(String(value.kind));
  } catch {
    return false;
  }
}

const DOWN = [
  "content-type",
  "content-encoding",
  "warning",
  "audit-id",
  "retry-after",
  "etag",
  "last-modified",
  "vary",
  "cache-control",
];

/** What the engineer's kubectl is told. No header of the connection itself: HTTP/2 refuses them. */
export function headersDown(headers: Readonly<IncomingHttpHeaders>): Record<string, string | string[]> {
  const down: Record<string, string | string[]> = {};
  for (const name of DOWN) {
    const value = headers[name];
    if (value !== undefined) down[name] = value;
  }
  return down;
}
