import {
  type ClientRequest,
  createServer as createControl,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import type { Duplex } from "node:stream";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";

/** One request as the front saw it; an upgrade when it is answered. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  /** 0: the connection was cut before an answer. */
  readonly status: number;
  readonly at: string;
}

export interface Front {
  /** https, with a certificate of {@link authority}. Until {@link Front.lead} is called it answers 502. */
  readonly url: string;
  /** PEM; no client trusts it by default. */
  readonly authority: string;
  /**
   * For the tests, which are other processes: GET returns the requests as {@link Seen}, PUT opens or closes the front.
   */
  readonly control: string;
  /** Says where the platform is, which must know this address before it starts. */
  lead(platformUrl: string): void;
  close(): Promise<void>;
}

/** The front keeps this many requests and forgets the oldest. */
const SEEN_LIMIT = 50_000;

/** TLS in front of the platform, as a vendor has it, with a private authority. It can be switched off and on. */
export async function openFront(host: string): Promise<Front> {
  const authority = new CertificateAuthority("Sallyport e2e");
  const seen: Seen[] = [];
  const upgraded = new Set<Duplex>();
  let platformUrl: string | undefined;
  let isOpen = true;
  const note = ({ method = "", url: path = "" }: IncomingMessage, status: number): void => {
    seen.push({ method, path, status, at: new Date().toISOString() });
    if (seen.length > SEEN_LIMIT) seen.shift();
  };
  const onwardsFor = ({ method, url = "", headers }: IncomingMessage): ClientRequest =>
    request(new URL(url, platformUrl), { method, headers });
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (!isOpen) return void incoming.socket.destroy();
    if (platformUrl === undefined) return void outgoing.writeHead(502).end();
    const onwards = onwardsFor(incoming).once("response", (answer) => {
      note(incoming, answer.statusCode ?? 0);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onwards.once("error", () => {
      note(incoming, 0);
      outgoing.destroy();
    });
    outgoing.once("close", () => onwards.destroy());
    incoming.pipe(onwards);
  };
  const upgrade = (incoming: IncomingMessage, socket: Duplex, first: Buffer): void => {
    socket.on("error", () => undefined);
    if (!isOpen || platformUrl === undefined) return void socket.destroy();
    const onwards = onwardsFor(incoming);
    onwards.once("upgrade", (answer, other, begun) => {
      note(incoming, 101);
      socket.write(Buffer.concat([Buffer.from(headOf(answer)), begun]));
      other.write(first);
      joined(socket, other, upgraded);
    });
    onwards.once("response", (answer) => {
      note(incoming, answer.statusCode ?? 0);
      socket.write(headOf(answer));
      answer.pipe(socket);
    });
    onwards.once("error", () => socket.destroy());
    socket.once("close", () => onwards.destroy());
    onwards.end();
  };
  const { certificate: cert, key } = authority.issue({ commonName: host, hosts: [host] });
  const front = createServer({ cert, key }, pass).on("upgrade", upgrade);
  const control = createControl((incoming, outgoing) => {
    if (incoming.method === "GET") {
      outgoing.end(JSON.stringify(seen));
      return;
    }
    isOpen = incoming.url === "/open";
    if (!isOpen) {
      front.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
    }
    outgoing.end();
  });
  await listen(front, host);
  await listen(control, "127.0.0.1");
  return {
    url: `https://${host}:${(front.address() as AddressInfo).port}`,
    authority: authority.certificate,
    control: `http://127.0.0.1:${(control.address() as AddressInfo).port}`,
    lead(url) {
      platformUrl = url;
    },
    async close() {
      for (const socket of upgraded) socket.destroy();
      for (const server of [front, control]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

/** Of an answer to an upgrade. Its body, if any, ends with the connection. */
function headOf({ statusCode = 502, statusMessage = "", rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.toLowerCase() !== "transfer-encoding") lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Bytes both ways, and each end is the other's. */
function joined(one: Duplex, other: Duplex, known: Set<Duplex>): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    known.add(from);
    from.pipe(to);
    from.on("error", () => undefined);
    from.once("close", () => {
      known.delete(from);
      to.destroy();
    });
  }
}

function listen(server: Server, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
}
