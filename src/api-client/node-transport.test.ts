import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";
import { systemClock } from "../base/clock.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { nodeTransport } from "./node-transport.ts";
import { defaultTransport } from "./options.ts";
import { readWhole, type Transport, type WireRequest } from "./transport.ts";
import { undiciTransport } from "./undici-transport.ts";
import { UserSignIn } from "./user-sign-in.ts";

const HOST = "platform.example.com";
const authority = new CertificateAuthority("Root of a test");
const trusted = getCACertificates("default");
beforeAll(() => setDefaultCACertificates([...trusted, authority.certificate]));
afterAll(() => setDefaultCACertificates(trusted));

const open: (() => unknown)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of open.splice(0).reverse()) await close();
});

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function plain(handler: Handler): Promise<URL> {
  return new URL(`http://127.0.0.1:${await listening(createServer(handler))}/v1/things?a=b`);
}

async function encrypted(handler: Handler): Promise<URL> {
  const { certificate: cert, key } = authority.issue({ commonName: "platform", hosts: ["127.0.0.1", HOST] });
  return new URL(`https://127.0.0.1:${await listening(createTlsServer({ cert, key }, handler))}/`);
}

function closed<T extends { close(): Promise<void> }>(each: T): T {
  open.push(() => each.close());
  return each;
}

const TRANSPORTS: readonly (readonly [string, () => Transport])[] = [
  ["Node's own", () => nodeTransport(systemClock)],
  ["undici's", () => undiciTransport("direct")],
];

const get = (url: URL, more: Partial<WireRequest> = {}): WireRequest => ({
  ...{ method: "GET", url, headers: {}, body: undefined },
  ...more,
});
/** So that a test fails rather than hangs. */
const soon = () => AbortSignal.timeout(10_000);
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "it succeeded",
    (error: Error & { code?: unknown }) => error.code ?? error.message,
  );

async function textOf(transport: Transport, request: WireRequest): Promise<string | undefined> {
  const { body } = await transport.send(request, soon());
  return readWhole(body, 1_000);
}

describe.each(TRANSPORTS)("%s transport", (_, make) => {
  const transport = () => closed(make());

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE"])(
    "sends a %s with its body, and its length before",
    async (method) => {
      const url = await plain((request, response) => {
        const { "content-length": length, "transfer-encoding": coding, "x-of": of } = request.headers;
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.once("end", () => {
          const text = Buffer.concat(chunks).toString();
          response.end(JSON.stringify([request.method, request.url, text, length, coding, of]));
        });
      });
      const request = get(url, { method, headers: { "x-of": "ours" }, body: '{"é":1}' });
      const answer = JSON.parse((await textOf(transport(), request)) ?? "");
      expect(answer).toEqual([method, "/v1/things?a=b", '{"é":1}', "8", null, "ours"]);
    },
  );

  test("refuses a certificate of an authority that is not trusted, and one of another host", async () => {
    const { certificate: cert, key } = new CertificateAuthority("Another").issue({
      ...{ commonName: "platform", hosts: ["127.0.0.1"] },
    });
    const other = authority.issue({ commonName: "platform", hosts: [HOST] });
    const seen = vi.fn();
    for (const [server, code] of [
      [createTlsServer({ cert, key }, seen), "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
      [createTlsServer({ cert: other.certificate, key: other.key }, seen), "ERR_TLS_CERT_ALTNAME_INVALID"],
    ] as const) {
      const url = new URL(`https://127.0.0.1:${await listening(server)}/`);
      expect(await codeOf(transport().send(get(url, { headers: { authorization: "Bearer canary" } }), soon()))).toBe(
        code,
      );
    }
    expect(seen).not.toHaveBeenCalled();
  });

  test("ends at the caller's signal before the head, and in a body that never ends", async () => {
    const stop = new AbortController();
    const silent = await plain(() => stop.abort(new Error("enough")));
    expect(await codeOf(transport().send(get(silent), stop.signal))).not.toBe("it succeeded");
    const stopBody = new AbortController();
    const gone = Promise.withResolvers<void>();
    const endless = await plain((_request, response) => {
      response.once("close", gone.resolve);
      response.write("a");
    });
    const { body } = await transport().send(get(endless), stopBody.signal);
    const reading = codeOf(readWhole(body, 1_000));
    stopBody.abort(new Error("enough"));
    expect(await reading).not.toBe("it succeeded");
    await gone.promise;
  });

  test("reads no more of a body than it may, and hangs up", async () => {
    const gone = Promise.withResolvers<void>();
    const url = await plain((_request, response) => {
      response.once("close", gone.resolve);
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536))) if (response.destroyed) return;
      };
      response.on("drain", more);
      more();
    });
    const { body } = await transport().send(get(url), soon());
    expect(await readWhole(body, 100_000)).toBeUndefined();
    await gone.promise;
  });

  test("unpacks nothing, and follows no redirect", async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const packed = await plain((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    });
    const { body } = await transport().send(get(packed), soon());
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    expect(bytes).toBe(bomb.length);
    const stolen = vi.fn((_: IncomingMessage, response: ServerResponse) => void response.end());
    const elsewhere = await plain(stolen);
    const moved = await plain((_request, response) => void response.writeHead(307, { location: elsewhere.href }).end());
    const { status, headers } = await transport().send(get(moved, { headers: { authorization: "Bearer k" } }), soon());
    expect([status, headers.location]).toEqual([307, elsewhere.href]);
    expect(stolen).not.toHaveBeenCalled();
  });

  test("sends no header with a line break in it", async () => {
    const seen = vi.fn();
    const url = await plain(seen);
    for (const headers of [{ "x-of": "a\r\nx-admin: yes" }, { "x-of\r\nx-admin": "yes" }, { "x-of": "\0" }]) {
      const failure = await transport()
        .send(get(url, { headers }), soon())
        .then(
          () => new Error("it succeeded"),
          (error: Error) => error,
        );
      expect((failure as NodeJS.ErrnoException).code).toMatch(/^(ERR_INVALID_(CHAR|HTTP_TOKEN)|UND_ERR_INVALID_ARG)$/);
    }
    expect(seen).not.toHaveBeenCalled();
  });

  test("takes no other protocol than was asked for", async () => {
    const port = await listening(
      createTcpServer((socket) => {
        socket.once("data", () => socket.write("HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"));
      }),
    );
    expect(await codeOf(transport().send(get(new URL(`http://127.0.0.1:${port}`)), soon()))).not.toBe("it succeeded");
  });
});

describe("Node's own transport", () => {
  test("sends one after the other on one connection, also with TLS", async () => {
    const each = closed(nodeTransport(systemClock));
    for (const server of [plain, encrypted]) {
      const ports = new Set<number | undefined>();
      const url = await server((request, response) => {
        ports.add(request.socket.remotePort);
        response.end("well");
      });
      for (let turn = 0; turn < 3; turn += 1) expect(await textOf(each, get(url))).toBe("well");
      expect(ports.size).toBe(1);
    }
  });

  test("gives up on a connection that does not come to be, and keeps no timer of others", async () => {
    const clock = new FakeClock();
    const accepted = Promise.withResolvers<void>();
    // It takes the connection and says nothing: TLS never stands.
    const port = await listening(createTcpServer(() => accepted.resolve()));
    const each = closed(nodeTransport(clock));
    const waiting = codeOf(each.send(get(new URL(`https://127.0.0.1:${port}`)), soon()));
    await accepted.promise;
    clock.advance(9_999);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    expect(await waiting).toBe("ETIMEDOUT");
    const url = await encrypted((_request, response) => void response.end("well"));
    for (let turn = 0; turn < 2; turn += 1) expect(await textOf(each, get(url))).toBe("well");
    await codeOf(each.send(get(new URL("http://127.0.0.1:1")), soon()));
    expect(clock.pending).toBe(0);
  });
});

describe("the default transport", () => {
  /** A proxy that joins every CONNECT to the server of `url`, and keeps what it was asked. */
  async function proxyTo(url: URL): Promise<{ readonly address: string; readonly asked: IncomingMessage[] }> {
    const asked: IncomingMessage[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request);
      response.writeHead(502).end();
    });
    proxy.on("connect", (request: IncomingMessage, socket: Socket) => {
      asked.push(request);
      const onward = connect(Number(url.port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
      for (const each of [socket, onward]) each.on("error", () => undefined);
      open.push(() => onward.destroy());
    });
    return { address: `http://127.0.0.1:${await listening(proxy)}`, asked };
  }

  test.each(["HTTPS_PROXY", "https_proxy"])("goes through the proxy that %s names, which sees no key", async (name) => {
    const url = await encrypted(({ headers }, response) => void response.end(headers.authorization));
    const { address, asked } = await proxyTo(url);
    for (const other of ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"]) vi.stubEnv(other, undefined);
    vi.stubEnv(name, address);
    const base = new URL(`https://${HOST}`);
    const request = get(base, { headers: { authorization: "Bearer canary" } });
    expect(await textOf(closed(defaultTransport(base, systemClock)), request)).toBe("Bearer canary");
    expect(asked.map(({ method, url: target }) => [method, target])).toEqual([["CONNECT", `${HOST}:443`]]);
    expect(JSON.stringify(asked[0]?.rawHeaders)).not.toContain("canary");
  });

  test("goes to this machine directly, also where the variables name a proxy", async () => {
    const url = await plain((_request, response) => void response.end("well"));
    const { address, asked } = await proxyTo(url);
    for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]) vi.stubEnv(name, address);
    expect(await textOf(closed(defaultTransport(url, systemClock)), get(url))).toBe("well");
    expect(asked).toEqual([]);
  });
});

describe("a sign-in", () => {
  const begun = (url: URL): Promise<unknown> =>
    closed(new UserSignIn({ baseUrl: url.origin, clientId: "cli" })).begin("http://127.0.0.1:1/", soon());

  test("reads a bounded answer, and does not unpack one", async () => {
    const large = await plain((_request, response) => {
      response.setHeader("content-type", "application/json").end(`"${"x".repeat(2_000_000)}"`);
    });
    await expect(begun(large)).rejects.toMatchObject({ kind: "unreachable" });
    const packed = await plain((_request, response) => {
      response.setHeader("content-type", "application/json").setHeader("content-encoding", "gzip");
      response.end(gzipSync(Buffer.alloc(5_000_000)));
    });
    await expect(begun(packed)).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("goes nowhere else", async () => {
    const stolen = vi.fn((_: IncomingMessage, response: ServerResponse) => void response.end());
    const elsewhere = await plain(stolen);
    const moved = await plain((_request, response) => void response.writeHead(302, { location: elsewhere.href }).end());
    await expect(begun(moved)).rejects.toMatchObject({ kind: "unreachable" });
    expect(stolen).not.toHaveBeenCalled();
  });
});
