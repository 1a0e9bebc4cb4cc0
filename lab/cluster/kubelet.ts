import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiCredentials, apiRequest } from "./api-request.ts";
import type { Cluster, Manifest } from "./cluster.ts";
import { sourceRecipe } from "./go-build.ts";
import { freePort } from "./ports.ts";
import { Program } from "./program.ts";
import { ensureRecipe } from "./programs.ts";
import { Watchdog } from "./watchdog.ts";

const SOURCE = join(import.meta.dirname, "kubelet");
const NODE = "node-of-processes";

/** A node whose pods are processes of this machine: exec, logs and port-forward work, and nothing else does. */
export interface Kubelet {
  /** A pod that runs. Its folder is where its commands start. */
  pod(namespace: string, name: string, labels?: Readonly<Record<string, string>>): Promise<Pod>;
  stop(): Promise<void>;
}

export interface Pod {
  readonly name: string;
  readonly folder: string;
  /** Adds a line to the log of its only container. */
  log(line: string): void;
}

/** Builds the program once (10 s with warm Go caches), starts it, and makes its node in the cluster. */
export async function startKubelet(cluster: Cluster, signal: AbortSignal): Promise<Kubelet> {
  const recipe = await sourceRecipe({
    name: "kubelet",
    source: SOURCE,
    files: ["go.mod", "go.sum", "main.go"],
    linkerFlags: "-s -w",
    title: "a kubelet whose containers are processes",
    expectation: "about 20 seconds on 2 cores, once",
  });
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const path = join(await ensureRecipe(recipe, { say }, signal), "kubelet");
  const dir = join(cluster.dir, "kubelet");
  const pods = join(dir, "pods");
  mkdirSync(pods, { recursive: true });
  const { backend } = cluster;
  const serving = backend.issue({ commonName: NODE, hosts: ["127.0.0.1"] });
  const write = (name: string, text: string): string => {
    const file = join(dir, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const port = await freePort();
  const ca = backend.certificate;
  const credentials = { server: `https://127.0.0.1:${port}`, ca, ...backend.issue({ commonName: "lab" }) };
  const watchdog = new Watchdog();
  const program = new Program({
    name: "kubelet",
    path,
    args: [
      `--listen=127.0.0.1:${port}`,
      `--pods=${pods}`,
      `--cert=${write("serving.crt", serving.certificate)}`,
      `--key=${write("serving.key", serving.key)}`,
      `--client-ca=${write("client-ca.crt", backend.certificate)}`,
    ],
    logFile: join(dir, "kubelet.log"),
    watchdog,
    isReady: () => answers(credentials),
  });
  await program.start(signal);
  await create(cluster, "/api/v1/nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: NODE },
  });
  await patchStatus(cluster, `/api/v1/nodes/${NODE}`, {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    conditions: [{ type: "Ready", status: "True" }],
  });
  return {
    pod: (namespace, name, labels = {}) => makePod(cluster, pods, { namespace, name, labels }),
    async stop() {
      await program.kill();
      watchdog.done();
    },
  };
}

async function makePod(
  cluster: Cluster,
  pods: string,
  metadata: { readonly namespace: string; readonly name: string; readonly labels: Readonly<Record<string, string>> },
): Promise<Pod> {
  const { namespace, name } = metadata;
  const folder = join(pods, name);
  mkdirSync(folder, { recursive: true });
  const containers = [{ name: "main", image: "none" }];
  const collection = `/api/v1/namespaces/${namespace}/pods`;
  const spec = { nodeName: NODE, containers, terminationGracePeriodSeconds: 0 };
  await create(cluster, collection, { apiVersion: "v1", kind: "Pod", metadata, spec });
  const startedAt = new Date().toISOString();
  const state = { running: { startedAt } };
  await patchStatus(cluster, `${collection}/${name}`, {
    phase: "Running",
    podIP: "127.0.0.1",
    conditions: [
      { type: "Ready", status: "True" },
      { type: "ContainersReady", status: "True" },
    ],
    containerStatuses: [{ name: "main", ready: true, image: "none", imageID: "", restartCount: 0, state }],
  });
  return { name, folder, log: (line) => appendFileSync(join(folder, "log"), `${line}\n`) };
}

async function create(cluster: Cluster, path: string, body: Manifest): Promise<void> {
  const answer = await cluster.request({ method: "POST", path, body });
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

async function patchStatus(cluster: Cluster, path: string, status: Manifest): Promise<void> {
  const contentType = "application/merge-patch+json";
  const answer = await cluster.request({ method: "PATCH", path: `${path}/status`, body: { status }, contentType });
  if (answer.status !== 200) throw new Error(`PATCH ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

function answers(kubelet: ApiCredentials): Promise<boolean> {
  return apiRequest(kubelet, { path: "/healthz" }, AbortSignal.timeout(2_000)).then(
    ({ status }) => status === 200,
    () => false,
  );
}
