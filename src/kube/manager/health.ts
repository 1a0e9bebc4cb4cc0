import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { type ListenAddress, Listener, SERVER_LIMITS } from "../serving/listener.ts";

/** One thing that can be wrong. */
export interface HealthCheck {
  /** Path segment: `/readyz/<name>`. */
  readonly name: string;
  /** Undefined when all is well, else what is wrong, for a person. Must not wait, and must hold no secret. */
  readonly check: () => string | undefined;
}

/** What is wrong with the process itself, and whether it can do its work. */
export type Probe = "livez" | "readyz";

export interface HealthServerOptions extends ListenAddress {
  /** Absent: there is no `/metrics` here, because it is served elsewhere with TLS. */
  readonly registry?: Registry;
  readonly checks?: Readonly<Partial<Record<Probe, readonly HealthCheck[]>>>;
}

/**
 * `/livez`, `/readyz`, `/metrics` for the kubelet and Prometheus.
 *
 * `/readyz/<check>` asks one check; `?verbose` lists them, `?exclude=<check>` (repeatable) leaves one out. 200 and
 * `ok`, or 500 and the list. Neither probe ever asks the API server: were it away, the kubelet would restart all of us
 * for it.
 */
export class HealthServer {
  readonly #options: HealthServerOptions;
  readonly #checks: Readonly<Record<Probe, HealthCheck[]>>;
  readonly #listener: Listener;

  constructor(options: HealthServerOptions) {
    this.#options = options;
    const { livez = [], readyz = [] } = options.checks ?? {};
    // `ping` passes whenever there is an answer at all, as on the API server: an empty list would say nothing.
    const ping: HealthCheck = { name: "ping", check: () => undefined };
    this.#checks = { livez: [ping, ...livez], readyz: [ping, ...readyz] };
    const server = createServer(SERVER_LIMITS, (request, response) => {
      // Writing the answer to a socket that is gone is no failure of this process; rendering metrics is all that could
      // fail.
      this.#answer(request, response).catch(() => response.writeHead(500).end());
    });
    this.#listener = new Listener(server, options);
  }

  addCheck(probe: Probe, check: HealthCheck): void {
    this.#checks[probe].push(check);
  }

  /** The port listened on. @throws Error before `listen`. */
  get port(): number {
    return this.#listener.port;
  }

  /** @throws Error `EADDRINUSE` and the like. */
  listen(): Promise<void> {
    return this.#listener.listen();
  }

  /** Answers what has been asked, then closes. Idle keep-alive connections are cut. */
  close(): Promise<void> {
    return this.#listener.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
      return;
    }
    // Not `new URL`: it throws on targets that Node lets through.
    const [pathname = "", query = ""] = (request.url ?? "").split("?", 2);
    const { registry } = this.#options;
    if (pathname === "/metrics" && registry !== undefined) {
      const text = await registry.metrics();
      response.writeHead(200, { "content-type": registry.contentType }).end(text);
      return;
    }
    const { status, body } = this.#probe(pathname, new URLSearchParams(query));
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(body);
  }

  #probe(path: string, query: URLSearchParams): { readonly status: number; readonly body: string } {
    const [, probe, name, ...rest] = path.split("/");
    if ((probe !== "livez" && probe !== "readyz") || rest.length > 0) return NOT_FOUND;
    const checks = this.#checks[probe];
    if (name) {
      const check = checks.find((each) => each.name === name);
      return check ? report(`${probe}/${name}`, [check], [], query.has("verbose")) : NOT_FOUND;
    }
    return report(probe, checks, query.getAll("exclude"), query.has("verbose"));
  }
}

const NOT_FOUND = { status: 404, body: "not found\n" } as const;

/** The API server's own format, which `kubectl get --raw` readers know. */
function report(
  title: string,
  checks: readonly HealthCheck[],
  excluded: readonly string[],
  isVerbose: boolean,
): { readonly status: number; readonly body: string } {
  let isWell = true;
  const lines = checks.map(({ name, check }) => {
    if (excluded.includes(name)) return `[+]${name} excluded: ok`;
    const problem = problemOf(check);
    if (problem === undefined) return `[+]${name} ok`;
    isWell = false;
    return `[-]${name} failed: ${problem}`;
  });
  for (const name of excluded.filter((each) => !checks.some((check) => check.name === each))) {
    lines.push(`warn: no check of the name ${JSON.stringify(name)} to exclude`);
  }
  if (isWell && !isVerbose) return { status: 200, body: "ok" };
  lines.push(`${title} check ${isWell ? "passed" : "failed"}`, "");
  return { status: isWell ? 200 : 500, body: lines.join("\n") };
}

/** A check that throws has failed; the others are still asked. */
function problemOf(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    return `check threw ${error instanceof Error ? error.name : typeof error}`;
  }
}
