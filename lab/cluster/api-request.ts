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
}

export interface ApiCall {
  readonly method?: string;
  /** Begins with a slash. */
  readonly path: string;
  readonly body?: unknown;
  /** @default "application/json" */
  readonly contentType?: string;
}

/**
 * One request to the API server, on a connection of its own. For the test control plane's own needs (is it ready,
 * make a token): it must not depend on the client that is tested on it.
 */
export function apiRequest(credentials: ApiCredentials, call: ApiCall, signal: AbortSignal): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: false });
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
          ...(call.body !== undefined && { "content-type": call.contentType ?? "application/json" }),
          ...(credentials.token !== undefined && { authorization: `Bearer ${credentials.token}` }),
        },
        timeout: 30_000,
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.once("error", reject);
        response.once("end", () => resolve({ status: response.statusCode ?? 0, body: parsed(text) }));
      },
    );
    outgoing.once("timeout", () =>
      outgoing.destroy(new Error(`no answer from ${credentials.server}${call.path} for 30 s`)),
    );
    outgoing.once("error", reject);
    outgoing.end(call.body === undefined ? undefined : JSON.stringify(call.body));
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
