import { createServer as createControl, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";

/** One request as the front saw it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  /** 0: the connection was cut before an answer. */
  readonly status: number;
  readonly at: string;
}

export interface Front {
  /** https, with a certificate of {@link authority}. */
  readonly url: string;
  /** PEM; no client trusts it by default. */
  readonly authority: string;
  /**
   * For the tests, which are other processes: GET returns the requests as {@link Seen}, PUT opens or closes the front.
   */
  readonly control: string;
  close(): Promise<void>;
}

/** The front keeps this many requests and forgets the oldest. */
const SEEN_LIMIT = 50_000;

/** TLS in front of the platform, as a vendor has it, with a private authority. It can be switched off and on. */
export async function openFront(platformUrl: string, host: string): Promise<Front> {
  const authority = new CertificateAuthority("Sallyport e2e");
  const seen: Seen[] = [];
  let isOpen = true;
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (!isOpen) return void incoming.socket.destroy();
    const { method = "", url = "", headers } = incoming;
    const answered = (status: number): void => {
      seen.push({ method, path: url, status, at: new Date().toISOString() });
      if (seen.length > SEEN_LIMIT) seen.shift();
    };
    const onwards = request(new URL(url, platformUrl), { method, headers }, (answer) => {
      answered(answer.statusCode ?? 0);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onwards.once("error", () => {
      answered(0);
      outgoing.destroy();
    });
    outgoing.once("close", () => onwards.destroy());
    incoming.pipe(onwards);
  };
  const { certificate: cert, key } = authority.issue({ commonName: host, hosts: [host] });
  const front = createServer({ cert, key }, pass);
  const control = createControl((incoming, outgoing) => {
    if (incoming.method === "GET") {
      outgoing.end(JSON.stringify(seen));
      return;
    }
    isOpen = incoming.url === "/open";
    if (!isOpen) front.closeAllConnections();
    outgoing.end();
  });
  await listen(front, host);
  await listen(control, "127.0.0.1");
  return {
    url: `https://${host}:${(front.address() as AddressInfo).port}`,
    authority: authority.certificate,
    control: `http://127.0.0.1:${(control.address() as AddressInfo).port}`,
    async close() {
      for (const server of [front, control]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

function listen(server: Server, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
}
