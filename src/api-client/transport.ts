/** One HTTP request as it goes out. */
export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it was sent: nothing unpacks it. Must be read to its end, or left by `break`: else its socket stays open. */
  readonly body: AsyncIterable<Buffer>;
}

/** How the client's requests are sent: by Node's own client, or by undici. Neither follows a redirect. */
export interface Transport {
  /** Any status is an answer; only the network rejects. The caller's signal is the time limit, to the body's last byte. */
  send(request: WireRequest, signal: AbortSignal): Promise<WireAnswer>;
  /** Ends its connections; requests under way fail. */
  close(): Promise<void>;
}

/** @returns undefined when there is more than `maxBytes`: the rest is not received */
export async function readWhole(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined; // Leaving the loop destroys the socket.
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
