import { createPrivateKey, X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { SecureContextOptions } from "node:tls";
import type { Registry } from "prom-client";
import type { Clock } from "../../base/clock.ts";
import { doubledHeader } from "../../base/doubled-header.ts";
import type { Logger } from "../../base/log.ts";
import { type ListenAddress, Listener, SERVER_LIMITS } from "./listener.ts";
import type { ReaderAccess } from "./reader-access.ts";
import { type KeyPair, ServedCertificate } from "./served-certificate.ts";

const PATH = "/metrics";

/** TLS 1.2 and 1.3, with suites that authenticate what they encrypt. */
const TLS: SecureContextOptions = {
  minVersion: "TLSv1.2",
  ciphers: [
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
  ].join(":"),
};

export interface MetricsServerOptions extends ListenAddress {
  /** With `tls.crt` and `tls.key`. */
  readonly folder: string;
  readonly registry: Registry;
  /** Absent: each client that reaches the port may read. */
  readonly access?: Pick<ReaderAccess, "answer"> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** `/metrics` with TLS, for readers that the API server knows and lets read. Nothing else is on this port. */
export class MetricsServer {
  readonly #options: MetricsServerOptions;
  readonly #certificate: ServedCertificate;
  readonly #server: Server;
  readonly #listener: Listener;
  readonly #closing = new AbortController();

  constructor(options: MetricsServerOptions) {
    this.#options = options;
    this.#certificate = new ServedCertificate(options.folder, options);
    this.#server = createServer({ ...SERVER_LIMITS, handshakeTimeout: 10_000 }, (request, response) => {
      this.#answer(request, response).catch(() => {
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    });
    this.#listener = new Listener(this.#server, options);
  }

  get port(): number {
    return this.#listener.port;
  }

  /** @throws Error when there is no certificate that can be served; `EADDRINUSE` and the like. */
  async listen(): Promise<void> {
    try {
      await this.#certificate.look((pair) => this.#serve(pair));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`no certificate for the metrics in ${this.#options.folder}: ${reason}`, { cause });
    }
    await this.#listener.listen();
  }

  /** Follows the certificate until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#certificate.run((pair) => this.#serve(pair), signal);
  }

  close(): Promise<void> {
    this.#closing.abort(new Error("the metrics are no longer served"));
    return this.#listener.close();
  }

  /** For connections from now on. @throws Error when the key is not the certificate's, or one of the two is no PEM. */
  #serve(pair: KeyPair): void {
    // Node takes a pair that does not fit, and then refuses every handshake.
    const fits = new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key));
    if (!fits) throw new Error("tls.key is not the key of tls.crt");
    this.#server.setSecureContext({ ...TLS, ...pair });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? "").split("?", 1);
    if (doubledHeader(request.rawHeaders) !== undefined) return end(response, 400);
    if (path !== PATH) return end(response, 404);
    if (request.method !== "GET" && request.method !== "HEAD") return end(response, 405, { allow: "GET, HEAD" });
    const { access, registry } = this.#options;
    if (access !== undefined) {
      const { authorization } = request.headers;
      const address = request.socket.remoteAddress ?? "";
      const answer = await access.answer(PATH, authorization, address, this.#closing.signal);
      if (answer !== 200) return end(response, answer, HEADERS[answer]);
    }
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  }
}

const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { "www-authenticate": "Bearer" },
  429: { "retry-after": "1" },
  503: { "retry-after": "5" },
};

function end(response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, headers).end();
}
