import { Agent, request } from "node:https";

export interface ApiCredentials {
  readonly server: string;
  readonly ca: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface ApiAnswer {
  readonly status: number;
  /** Parsed when it is JSON, else the text. */
  readonly body: unknown;
  /** What the API server warns of, such as an unknown field. */
  readonly warnings: readonly string[];
}

export interface ApiCall {
  readonly method?: string;
  /** Begins with a slash. */
  readonly path: string;
  readonly body?: unknown;
  /** @default "application/json" */
  readonly contentType?: string;
  /** In place of those that are always sent, or beside them. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * One request to the API server. For the test control plane's own needs (is it ready, make a token): it must not depend
 * on the client that is tested on it.
 *
 * @param agent default one for this request: a connection of its own
 */
export function apiRequest(
  credentials: ApiCredentials,
  call: ApiCall,
  signal: AbortSignal,
  agent: Agent = new Agent({ keepAlive: false }),
): Promise<ApiAnswer> {
  const payload = call.body === undefined ? undefined : JSON.stringify(call.body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(call.path, credentials.server),
      {
        agent,
        signal,
        method: call.method ?? "GET",
        ca: credentials.ca,
        ...(credentials.certificate !== undefined && { cert: credentials.certificate }),
        ...(credentials.key !== undefined && { key: credentials.key }),
        headers: {
          accept: "application/json",
          ...(payload !== undefined && {
            "content-type": call.contentType ?? "application/json",
            // Node names no length for a DELETE, and the API server then reads no body: a dry run would delete.
            "content-length": Buffer.byteLength(payload),
          }),
          ...(credentials.token !== undefined && { authorization: `Bearer ${credentials.token}` }),
          ...call.headers,
        },
        timeout: 30_000,
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.once("error", reject);
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, body: parsed(text), warnings: warningsOf(response.rawHeaders) }),
        );
      },
    );
    outgoing.once("timeout", () =>
      outgoing.destroy(new Error(`no answer from ${credentials.server}${call.path} for 30 s`)),
    );
    outgoing.once("error", reject);
    outgoing.end(payload);
  });
}

/** A header looks like `299 - "unknown field \"spec.x\""`; there may be many. */
function warningsOf(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.flatMap((value, at) => {
    if (at % 2 === 0 || rawHeaders[at - 1]?.toLowerCase() !== "warning") return [];
    return value
      .replace(/^299 \S+ "/, "")
      .replace(/"$/, "")
      .replaceAll(/\\(["\\])/g, "$1");
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
