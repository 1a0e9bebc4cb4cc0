import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { resources } from "../objects/resource.ts";
import { ApiError } from "./api-error.ts";
import { Client } from "./client.ts";
import { type Connection, connect } from "./connection.ts";
import { TokenFile } from "./credentials.ts";
import { proxyFor } from "./proxy.ts";

const signal = new AbortController().signal;

describe("a token file", () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "kube-token-"));
    path = join(folder, "token");
    await writeFile(path, "one\n");
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("is read again after 60 s, not before", async () => {
    const clock = new FakeClock();
    const token = new TokenFile(path, clock);
    expect(await token.authorization()).toBe("Bearer one");
    await writeFile(path, "two");
    clock.advance(59_999);
    expect(await token.authorization()).toBe("Bearer one");
    clock.advance(1);
    expect(await token.authorization()).toBe("Bearer two");
  });

  test("keeps its last content while the file is being replaced", async () => {
    const clock = new FakeClock();
    const token = new TokenFile(path, clock);
    await token.authorization();
    await rm(path);
    clock.advance(60_000);
    expect(await token.authorization()).toBe("Bearer one");
  });

  test("that was never there is an error that names it", async () => {
    await expect(new TokenFile(join(folder, "none"), new FakeClock()).authorization()).rejects.toThrow("none");
  });
});

/** Says 401 to every token but the accepted one. */
class Guarded {
  accepted = "Bearer one";
  readonly seen: (string | undefined)[] = [];
  readonly sockets = new Set<number | undefined>();
  readonly #server = createServer((request, response) => {
    this.seen.push(request.headers.authorization);
    this.sockets.add(request.socket.remotePort);
    response.writeHead(request.headers.authorization === this.accepted ? 200 : 401).end("{}");
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe("a connection", () => {
  let folder: string;
  let server: Guarded;
  let connection: Connection;
  const status = async (over: Connection = connection): Promise<number> => {
    const answer = await over.request({ method: "GET", path: "/" }, signal);
    await answer.body.dump();
    return answer.status;
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "kube-connection-"));
    await writeFile(join(folder, "token"), "one");
    server = new Guarded();
    const tokenFile = join(folder, "token");
    connection = await connect({ explicit: { server: await server.listen(), tokenFile } }, new FakeClock());
  });
  afterEach(async () => {
    await connection.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  test("reads a rotated token at the first 401 and goes on", async () => {
    expect(await status()).toBe(200);
    server.accepted = "Bearer two";
    await writeFile(join(folder, "token"), "two");
    expect(await status()).toBe(200);
    expect(server.seen).toEqual(["Bearer one", "Bearer one", "Bearer two"]);
  });

  test("asks once when the 401 is not about age", async () => {
    server.accepted = "Bearer other";
    expect(await status()).toBe(401);
    expect(server.seen).toHaveLength(1);
  });

  test("acts as another user over the same sockets, which that user cannot close", async () => {
    const other = connection.withToken("other");
    expect(await status()).toBe(200);
    expect(await status(other)).toBe(401);
    await other.close();
    for (let at = 0; at < 5; at += 1) expect([await status(), await status(other)]).toEqual([200, 401]);
    expect(server.seen.slice(0, 3)).toEqual(["Bearer one", "Bearer other", "Bearer one"]);
    // Not always one: the next request may be sent before the last one's socket is known to be free.
    expect(server.sockets.size).toBeLessThanOrEqual(2);
  });

  test("a server that echoes the request in a broken answer brings no token into the error", async () => {
    const seen: string[] = [];
    const echo = createSocketServer((socket) =>
      socket.on("data", (request: Buffer) => {
        seen.push(request.toString());
        socket.end(`HTTP/9.9 ${request.toString()}`);
      }),
    );
    await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
    const broken = await connect({ explicit: { server: url, token: "canary-token" } }, new FakeClock());
    try {
      const asked = new Client(broken).get(resources.pods, { namespace: "a", name: "b" }, signal);
      const error: unknown = await asked.catch((reason: unknown) => reason);
      expect(seen.join()).toContain("Bearer canary-token");
      expect(error).toBeInstanceOf(ApiError);
      const printed = inspect(error, { depth: 10, showHidden: true });
      expect(printed).toContain("cause");
      expect(printed).not.toContain("canary-token");
    } finally {
      await broken.close();
      echo.close();
    }
  });

  test("opens streams on sockets of their own", async () => {
    const stream = await connection.open({ method: "GET", path: "/" }, signal);
    expect(await status()).toBe(200);
    await stream.body.dump();
    expect(server.sockets.size).toBe(2);
  });

  test("goes through the proxy that the environment names", async () => {
    const asked: (string | undefined)[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request.url);
      response.end("{}");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const environment = { HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    // A name that only the proxy knows. Plain HTTP is asked of the proxy; the tunnel for TLS is tested on a real
    // server.
    const proxied = await connect({ explicit: { server: "http://kube.invalid:6443" }, environment }, new FakeClock());
    expect(await status(proxied)).toBe(200);
    expect(asked).toEqual(["http://kube.invalid:6443/"]);
    await proxied.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
});

describe("the proxy for a server", () => {
  const proxy = "http://proxy:3128";
  const rows: readonly (readonly [string, string, Readonly<Record<string, string>>, string | undefined])[] = [
    ["is HTTPS_PROXY's for https", "https://kube:6443", { HTTPS_PROXY: proxy }, proxy],
    ["is not HTTP_PROXY's for https", "https://kube:6443", { HTTP_PROXY: proxy }, undefined],
    ["may be named in lower case", "https://kube:6443", { https_proxy: proxy }, proxy],
    ["gets a scheme when it has none", "https://kube:6443", { HTTPS_PROXY: "proxy:3128" }, proxy],
    ["is none for loopback", "https://127.0.0.1:6443", { HTTPS_PROXY: proxy }, undefined],
    ["is none for a host in NO_PROXY", "https://kube:6443", { HTTPS_PROXY: proxy, NO_PROXY: "a, kube" }, undefined],
    ["is none for a subdomain of one", "https://api.kube:6443", { HTTPS_PROXY: proxy, NO_PROXY: "kube" }, undefined],
    ["is there for a host that only ends alike", "https://mykube", { HTTPS_PROXY: proxy, NO_PROXY: "kube" }, proxy],
    ["is none for a suffix", "https://api.kube", { HTTPS_PROXY: proxy, NO_PROXY: ".kube" }, undefined],
    ["is there for the suffix itself", "https://kube", { HTTPS_PROXY: proxy, NO_PROXY: ".kube" }, proxy],
    ["is none for the named port", "https://kube:6443", { HTTPS_PROXY: proxy, NO_PROXY: "kube:6443" }, undefined],
    ["is there for another port", "https://kube:443", { HTTPS_PROXY: proxy, NO_PROXY: "kube:6443" }, proxy],
    ["is none within a range", "https://10.96.0.1", { HTTPS_PROXY: proxy, NO_PROXY: "10.96.0.0/12" }, undefined],
    ["is there outside of it", "https://10.1.0.1", { HTTPS_PROXY: proxy, NO_PROXY: "10.96.0.0/12" }, proxy],
    ["is none within a range of IPv6", "https://[fd00::1]", { HTTPS_PROXY: proxy, NO_PROXY: "fd00::/8" }, undefined],
    ["is none for anything with a star", "https://kube", { HTTPS_PROXY: proxy, NO_PROXY: "*" }, undefined],
    ["ignores a range that is none", "https://10.1.0.1", { HTTPS_PROXY: proxy, NO_PROXY: "10.0.0.0/99" }, proxy],
  ];
  test.each(rows)("%s", (_, server, environment, expected) => {
    expect(proxyFor(new URL(server), environment)).toBe(expected);
  });
});
