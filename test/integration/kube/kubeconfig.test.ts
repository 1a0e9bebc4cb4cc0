import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";
import { type Cluster, startCluster } from "../../../lab/cluster/cluster.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { eventually, signal } from "../../world/wait.ts";

// Connections that only a kubeconfig can configure: OIDC, and a SOCKS proxy.

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PASSWORD = "s3cret";

let folder: string;
let issuer: HttpsServer;
let socks: Server;
let cluster: Cluster;
/** The addresses that clients asked the proxy for. */
const tunnels: string[] = [];

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;
const issuerUrl = (): string => `https://127.0.0.1:${portOf(issuer)}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  const authority = new CertificateAuthority("Issuer Root");
  const { certificate: cert, key } = authority.issue({ commonName: "issuer", hosts: ["127.0.0.1"] });
  await writeFile(join(folder, "issuer-ca.crt"), authority.certificate);
  issuer = createHttpsServer({ cert, key }, (request, response) => {
    const jwk = { ...createPublicKey(privateKey).export({ format: "jwk" }), kid: "k", use: "sig", alg: "RS256" };
    const discovery = { issuer: issuerUrl(), jwks_uri: `${issuerUrl()}/keys` };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(request.url === "/keys" ? { keys: [jwk] } : discovery));
  });
  await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve));
  socks = createServer((client) => void tunnel(client).catch(() => client.destroy()));
  await new Promise<void>((resolve) => socks.listen(0, "127.0.0.1", resolve));
  cluster = await startCluster({
    apiserverArgs: [
      `--oidc-issuer-url=${issuerUrl()}`,
      "--oidc-client-id=sallyport",
      "--oidc-username-claim=sub",
      `--oidc-ca-file=${join(folder, "issuer-ca.crt")}`,
    ],
  });
}, 600_000);
afterAll(async () => {
  await cluster?.stop();
  issuer?.close();
  socks?.close();
  await rm(folder, { recursive: true });
});

/** RFC 1928 with RFC 1929's password, for one client. */
async function tunnel(client: Socket): Promise<void> {
  const read = (bytes: number): Promise<Buffer> =>
    eventually(
      async () => client.read(bytes) as Buffer | null,
      (found) => found !== null,
    ).then((found) => found ?? Buffer.alloc(0));
  const [, methods = 0] = await read(2);
  await read(methods);
  client.write(Buffer.from([5, 2]));
  const [, userBytes = 0] = await read(2);
  const user = (await read(userBytes)).toString();
  const [passwordBytes = 0] = await read(1);
  const isRight = (await read(passwordBytes)).toString() === PASSWORD;
  client.write(Buffer.from([1, isRight ? 0 : 1]));
  if (!isRight) return void client.end();
  await read(4);
  const address = [...(await read(4))].join(".");
  const port = (await read(2)).readUInt16BE();
  tunnels.push(`${user} ${address}:${port}`);
  const server = dial(port, address, () => {
    client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    client.pipe(server).pipe(client);
  });
  server.on("error", () => client.destroy());
  client.on("error", () => server.destroy());
}

/** The admin's kubeconfig with a change. */
async function kubeconfig(change: { readonly user?: object; readonly proxyUrl?: string }): Promise<string> {
  const config = parse(await readFile(cluster.adminKubeconfig, "utf8"));
  if (change.user !== undefined) config.users[0].user = change.user;
  if (change.proxyUrl !== undefined) config.clusters[0].cluster["proxy-url"] = change.proxyUrl;
  const file = join(folder, "config");
  await writeFile(file, JSON.stringify(config));
  return file;
}

function idToken(subject: string): string {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const claims = { iss: issuerUrl(), aud: "sallyport", sub: subject, iat: nowSeconds, exp: nowSeconds + 3_600 };
  const base64 = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const signed = `${base64({ alg: "RS256", kid: "k", typ: "JWT" })}.${base64(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

test("an OIDC token makes one the person whom it names", async () => {
  const user = { "auth-provider": { name: "oidc", config: { "id-token": idToken("ann") } } };
  const connection = await connect({ kubeconfig: await kubeconfig({ user }) });
  try {
    // The API server asks for the issuer's keys some time after its start.
    const who = await eventually(
      () =>
        new Client(connection).whoAmI(signal()).then(
          ({ username }) => username,
          () => undefined,
        ),
      () => true,
    );
    expect(who).toBe(`${issuerUrl()}#ann`);
  } finally {
    await connection.close();
  }
});

test("requests and a watch go through a SOCKS proxy with a password, with the certificate of the kubeconfig", async () => {
  const proxyUrl = `socks5://ann:${PASSWORD}@127.0.0.1:${portOf(socks)}`;
  const connection = await connect({ kubeconfig: await kubeconfig({ proxyUrl }) });
  try {
    const client = new Client(connection);
    const path = "/api/v1/namespaces?watch=true&timeoutSeconds=60";
    const watch = await connection.open({ method: "GET", path }, signal());
    await client.create(
      resources.namespaces,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "far" } },
      signal(),
    );
    let seen = "";
    for await (const chunk of watch.body) {
      seen += String(chunk);
      if (seen.includes('"name":"far"')) break;
    }
    expect(seen).toContain('"name":"far"');
    expect(new Set(tunnels)).toEqual(new Set([`ann ${new URL(connection.server).host}`]));
  } finally {
    await connection.close();
  }
});

test("a SOCKS proxy that does not let us in says so", async () => {
  const proxyUrl = `socks5://ann:guessed@127.0.0.1:${portOf(socks)}`;
  const connection = await connect({ kubeconfig: await kubeconfig({ proxyUrl }) });
  await expect(new Client(connection).whoAmI(signal())).rejects.toThrow("Authentication failed");
  await connection.close();
});
