import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { signal } from "../../world/wait.ts";

// A kubeconfig as cloud providers write it: it holds no token, but names a program that prints one.

/** How long the first token is valid: enough for the first calls on a slow machine. */
const GOOD_MS = 8_000;

const cluster = useCluster();
let folder: string;
let connection: Connection;
let token: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-exec-"));
  await cluster().apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "cloud" } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot", namespace: "cloud" } },
  ]);
  const text = await readFile(await cluster().kubeconfigForServiceAccount("cloud", "robot"), "utf8");
  token = /\btoken"?: *"?([\w.-]+)/.exec(text)?.[1] ?? "";
  expect(token.length).toBeGreaterThan(100);
  const server = /\bserver"?: *"?([^"\s,]+)/.exec(text)?.[1];
  const ca = /\bcertificate-authority-data"?: *"?([\w+/=]+)/.exec(text)?.[1];
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
    clusters: [{ name: "it", cluster: { server, "certificate-authority-data": ca } }],
    users: [{ name: "it", user: { exec: plugin("client.authentication.k8s.io/v1") } }],
  };
  await writeFile(join(folder, "config"), JSON.stringify(config));
  await answering(GOOD_MS);
  connection = await connect({ kubeconfig: join(folder, "config") });
});
afterAll(async () => {
  await connection?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A program that counts its calls. */
function plugin(apiVersion: string): object {
  const script = join(folder, "plugin");
  return {
    apiVersion,
    command: script,
    args: ["token"],
    env: [{ name: "ANSWER", value: join(folder, "answer") }],
    interactiveMode: "Never",
  };
}

async function answering(expiresInMs: number): Promise<void> {
  const expirationTimestamp = new Date(Date.now() + expiresInMs).toISOString();
  const status = { token, expirationTimestamp };
  const answer = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status };
  await writeFile(join(folder, "answer"), JSON.stringify(answer));
  await writeFile(join(folder, "plugin"), `#!/bin/sh\necho "$1" >> "${folder}/asked"\ncat "$ANSWER"\n`);
  await chmod(join(folder, "plugin"), 0o755);
}

async function asked(): Promise<number> {
  return (await readFile(join(folder, "asked"), "utf8").catch(() => "")).split("\n").length - 1;
}

test("the program's token is used, asked for once while it is good, and again when it has expired", async () => {
  const client = new Client(connection);
  expect((await client.whoAmI(signal())).username).toBe("system:serviceaccount:cloud:robot");
  await expect(client.get(resources.pods, { namespace: "cloud", name: "none" }, signal())).rejects.toMatchObject({
    status: 403,
  });
  expect(await asked()).toBe(1);
  await answering(3_600_000);
  await expect
    .poll(
      async () => {
        await client.whoAmI(signal());
        return asked();
      },
      { timeout: 90_000 },
    )
    .toBe(2);
  for (let times = 0; times < 5; times += 1) await client.whoAmI(signal());
  expect(await asked()).toBe(2);
});
