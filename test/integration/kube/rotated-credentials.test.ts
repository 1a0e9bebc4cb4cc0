import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";
import { FakeClock } from "../../../src/base/testing/fake-clock.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { signal } from "../../world/wait.ts";

// What a pod and a kubeconfig hold in files is replaced while we run: tokens, authorities, client certificates.

let folder: string;
let clock: FakeClock;
let server: Server | undefined;
let connection: Connection | undefined;
/** Token and certificate of each request. */
let seen: (readonly [string | undefined, string | undefined])[];
/** The server says 401 to all others; undefined: to nobody. */
let accepted: string | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rotated-"));
  clock = new FakeClock();
  [seen, accepted] = [[], undefined];
});
afterEach(async () => {
  await connection?.close();
  await stop();
  connection = undefined;
  await rm(folder, { recursive: true });
});

const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

async function serve(authority: CertificateAuthority, { host = "127.0.0.1", port = 0 } = {}): Promise<number> {
  const { certificate: cert, key } = authority.issue({ commonName: "server", hosts: ["127.0.0.1", "localhost"] });
  const tls = { cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false };
  server = createServer(tls, ({ headers, socket }, response) => {
    const name = [(socket as TLSSocket).getPeerCertificate()?.subject?.CN].flat()[0];
    seen.push([headers.authorization, name]);
    const isIn = accepted === undefined || accepted === headers.authorization || accepted === name;
    response.writeHead(isIn ? 200 : 401).end("{}");
  }).listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function stop(): Promise<void> {
  const closing = server;
  server = undefined;
  closing?.closeAllConnections();
  await new Promise<void>((done) => (closing === undefined ? done() : closing.close(() => done())));
}

async function status(): Promise<number | string> {
  try {
    const answer = await (connection as Connection).request({ method: "GET", path: "/" }, signal());
    await answer.body.dump();
    return answer.status;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

async function pod(authority: CertificateAuthority): Promise<void> {
  await write("ca.crt", authority.certificate);
  await write("token", "one\n");
  await write("namespace", "shop\n");
}

test("a pod's token and authority are read again after a minute", async () => {
  const [before, after] = [new CertificateAuthority("Before"), new CertificateAuthority("After")];
  await pod(before);
  const port = await serve(before);
  const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
  connection = await connect({ inCluster: true, folder, environment }, clock);
  expect([connection.namespace, await status()]).toEqual(["shop", 200]);
  await stop();
  await serve(after, { port });
  await write("ca.crt", `${before.certificate}\n${after.certificate}`);
  await write("token", "two");
  expect(await status()).not.toBe(200);
  clock.advance(60_000);
  expect(await status()).toBe(200);
  expect(seen).toEqual([
    ["Bearer one", undefined],
    ["Bearer two", undefined],
  ]);
  // The volume is being swapped: what was read stays good.
  await rm(join(folder, "ca.crt"));
  await rm(join(folder, "token"));
  clock.advance(60_000);
  expect(await status()).toBe(200);
});

test("a pod of a cluster with IPv6 addresses dials one", async () => {
  const authority = new CertificateAuthority("Six");
  await pod(authority);
  const environment = { KUBERNETES_SERVICE_HOST: "fd00:10:96::1", KUBERNETES_SERVICE_PORT: "443" };
  connection = await connect({ inCluster: true, folder, environment }, clock);
  expect(connection.server).toBe("https://[fd00:10:96::1]");
});

async function kubeconfig(authority: CertificateAuthority, port: number, user: object): Promise<string> {
  await write("ca.crt", authority.certificate);
  const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority": "ca.crt" };
  const config = {
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
    clusters: [{ name: "it", cluster }],
    users: [{ name: "it", user }],
  };
  await write("config", JSON.stringify(config));
  return join(folder, "config");
}

test("a client certificate in files is read again after a minute, and at a 401", async () => {
  const authority = new CertificateAuthority("It");
  const rotate = async (name: string): Promise<void> => {
    const { certificate, key } = authority.issue({ commonName: name });
    await write("it.crt", certificate);
    await write("it.key", key);
  };
  await rotate("one");
  const user = { "client-certificate": "it.crt", "client-key": "it.key" };
  const path = await kubeconfig(authority, await serve(authority), user);
  connection = await connect({ kubeconfig: path, environment: {} }, clock);
  expect(await status()).toBe(200);
  await rotate("two");
  expect(await status()).toBe(200);
  clock.advance(60_000);
  expect(await status()).toBe(200);
  await rotate("three");
  accepted = "three";
  expect(await status()).toBe(200);
  expect(seen.map(([, name]) => name)).toEqual(["one", "one", "two", "two", "three"]);
});

test("a certificate that a program gives is another one once the first has expired", async () => {
  const authority = new CertificateAuthority("It");
  const answer = async (name: string): Promise<void> => {
    const { certificate, key } = authority.issue({ commonName: name });
    const expirationTimestamp = new Date(clock.wallNow().getTime() + 300_000).toISOString();
    const status = { clientCertificateData: certificate, clientKeyData: key, expirationTimestamp };
    const credential = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status };
    await write("answer", JSON.stringify(credential));
  };
  await write("plugin", `#!/bin/sh\nexec cat ${join(folder, "answer")}\n`);
  await chmod(join(folder, "plugin"), 0o755);
  await answer("one");
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", interactiveMode: "Never" };
  const path = await kubeconfig(authority, await serve(authority), { exec });
  connection = await connect({ kubeconfig: path, environment: { PATH: process.env.PATH ?? "" } }, clock);
  expect(await status()).toBe(200);
  await answer("two");
  clock.advance(299_999);
  expect(await status()).toBe(200);
  clock.advance(1);
  expect(await status()).toBe(200);
  expect(seen.map(([, name]) => name)).toEqual(["one", "one", "two"]);
});

test("what acts as another user is left out for a caller's own token", async () => {
  const authority = new CertificateAuthority("It");
  const path = await kubeconfig(authority, await serve(authority), { token: "ours", as: "root" });
  connection = await connect({ kubeconfig: path, environment: {} }, clock);
  const headers: unknown[] = [];
  server?.prependListener("request", ({ headers: given }) =>
    headers.push([given.authorization, given["impersonate-user"]]),
  );
  expect(await status()).toBe(200);
  const answer = await connection.withToken("theirs").request({ method: "GET", path: "/" }, signal());
  await answer.body.dump();
  expect(headers).toEqual([
    ["Bearer ours", "root"],
    ["Bearer theirs", undefined],
  ]);
});
