import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { PlatformError } from "../kernel/errors.ts";

/** Fastify compares this with Content-Length, which counts the bytes on the wire. */
export type Inflated = Readable & { receivedEncodedLength: number };

/**
 * The body of a request with `content-encoding: gzip`. It ends with PAYLOAD_TOO_LARGE as soon as more than `maxBytes`
 * have come out, so that a small body that inflates without end costs no more than a large one.
 */
export function gunzipped(body: Readable | IncomingMessage, maxBytes: number): Inflated {
  const gunzip = createGunzip();
  // What breaks in the pipeline reaches the reader of its last part.
  const inflated = Readable.from(
    bounded(
      pipeline(body, gunzip, () => undefined),
      maxBytes,
    ),
    { objectMode: false },
  );
  const counted = Object.assign(inflated, { receivedEncodedLength: 0 });
  body.on("data", (chunk: Buffer) => {
    counted.receivedEncodedLength += chunk.length;
  });
  return counted;
}

async function* bounded(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new PlatformError("PAYLOAD_TOO_LARGE");
      yield chunk;
    }
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError("MALFORMED_JSON", { cause: error });
  }
}
