import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, connect as dial, isIP, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";

/** One request, as far as a kubeconfig decides it. */
export interface Recorded {
  readonly path: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Common name of the client's certificate. */
  readonly certificate: string | undefined;
  /** The name that the client asked TLS for. */
  readonly serverName: string | undefined;
  readonly proxy: string | undefined;
}

const HEADERS = /^(authorization|impersonate-.*)$/;

/**
 * An HTTPS server that says yes to all, and three proxies before it. It keeps the requests of each first segment of the
 * path apart, so that several clients can be asked at once.
 */
export class RecordingServer {
  readonly authority = new CertificateAuthority("Recording Root");
  readonly stranger = new CertificateAuthority("Stranger Root");
  readonly port: number;
  readonly httpProxy: number;
  readonly httpsProxy: number;
  readonly socksProxy: number;
  readonly #servers: readonly Server[];
  readonly #requests: Map<string, Recorded[]>;

  private constructor(parts: {
    authority: CertificateAuthority;
    ports: readonly number[];
    servers: readonly Server[];
    requests: Map<string, Recorded[]>;
  }) {
    this.authority = parts.authority;
    [this.port = 0, this.httpProxy = 0, this.httpsProxy = 0, this.socksProxy = 0] = parts.ports;
    this.#servers = parts.servers;
    this.#requests = parts.requests;
  }

  static async start(): Promise<RecordingServer> {
    const authority = new CertificateAuthority("Recording Root");
    const hosts = ["127.0.0.1", "localhost", "api.internal.example"];
    const { certificate: cert, key } = authority.issue({ commonName: "server", hosts });
    const requests = new Map<string, Recorded[]>();
    /** Which proxy dialled from this local port. */
    const proxies = new Map<number, string>();
    const tls = { cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false };
    const server = createHttpsServer(tls, ({ url = "/", rawHeaders, socket }, response) => {
      const [, row = "", ...rest] = url.split("/");
      const { remotePort = 0, servername, getPeerCertificate } = socket as TLSSocket & { servername?: string | false };
      const record: Recorded = {
        path: `/${rest.join("/")}`,
        headers: recordedHeaders(rawHeaders),
        certificate: [getPeerCertificate.call(socket)?.subject?.CN].flat()[0],
        // An address is no name: Go sends none, undici behind SOCKS sends it.
        serverName: isIP(servername || "") === 0 ? servername || undefined : undefined,
        proxy: proxies.get(remotePort),
      };
      requests.set(row, [...(requests.get(row) ?? []), record]);
      response.setHeader("content-type", "application/json");
      response.end("{}");
    });
    const passed = (
      name: string,
      headers: IncomingHttpHeaders,
      port: number,
      client: Socket,
      accepted: string | Buffer,
    ): void => {
      const upstream = dial(port, "127.0.0.1", () => {
        const user = headers["proxy-authorization"];
        proxies.set((upstream.address() as AddressInfo).port, user === undefined ? name : `${name} as ${user}`);
        client.write(accepted);
        client.pipe(upstream).pipe(client);
      });
      for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
        one.on("error", () => other.destroy());
        one.on("close", () => other.destroy());
      }
    };
    const proxy = (name: string, it: ReturnType<typeof createHttpServer>): Server =>
      it.on("connect", ({ url = "", headers }, client: Socket) => {
        passed(name, headers, Number(url.split(":")[1]), client, "HTTP/1.1 200 OK\r\n\r\n");
      });
    const socks = createServer((client) => {
      client.on("error", () => undefined);
      client.once("data", () => {
        client.write(Buffer.from([5, 0]));
        client.once("data", (ask: Buffer) => {
          const accepted = Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
          passed("socks", {}, ask.readUInt16BE(ask.length - 2), client, accepted);
        });
      });
    });
    const servers: readonly Server[] = [
      server,
      proxy("http", createHttpServer()),
      proxy("https", createHttpsServer({ cert, key })),
      socks,
    ];
    for (const each of servers) {
      each.listen(0, "127.0.0.1");
      await once(each, "listening");
    }
    const ports = servers.map((each) => (each.address() as AddressInfo).port);
    return new RecordingServer({ authority, ports, servers, requests });
  }

  /** What came under this first segment since it was last asked. */
  take(row: string): readonly Recorded[] {
    const found = this.#requests.get(row) ?? [];
    this.#requests.delete(row);
    return found;
  }

  async close(): Promise<void> {
    for (const each of this.#servers) {
      if ("closeAllConnections" in each) (each as ReturnType<typeof createHttpServer>).closeAllConnections();
      each.close();
    }
  }
}

function recordedHeaders(raw: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (HEADERS.test(name)) found[name] = [...(found[name] ?? []), raw[at + 1] ?? ""];
  }
  return Object.fromEntries(Object.entries(found).sort());
}
