import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";
import { freePort } from "../../lab/cluster/ports.ts";
import { checkMetricsReaders } from "../../src/crds/manifests/installation.ts";
import { startWorld, type World } from "../faults/world.ts";
import { eventually, signal } from "../world/wait.ts";

const HOST = "sallyport-metrics";
const authority = new CertificateAuthority("metrics");
const stack = new AsyncDisposableStack();
const stop = new AbortController();
const ports = { agent: 0, operator: 0 };
let world: World;
let folder = "";
let tlsFolder = "";

/** As the kubelet lays out a mounted Secret: a folder for each version, and a link that moves at once. */
async function mount(version: string): Promise<void> {
  const { certificate, key } = authority.issue({ commonName: version, hosts: [HOST] });
  await mkdir(join(tlsFolder, version));
  await writeFile(join(tlsFolder, version, "tls.crt"), certificate);
  await writeFile(join(tlsFolder, version, "tls.key"), key);
  await symlink(version, join(tlsFolder, "..data_tmp"));
  await rename(join(tlsFolder, "..data_tmp"), join(tlsFolder, "..data"));
}

interface Answer {
  readonly status: number;
  readonly body: string;
  /** The common name of the certificate. */
  readonly certificate: string;
}

function read(port: number, token?: string): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = { host: "127.0.0.1", port, path: "/metrics", ca: authority.certificate, servername: HOST, headers };
  return new Promise((resolve, reject) => {
    const asked = request({ ...options, agent: false }, (response) => {
      const { subject } = (response.socket as TLSSocket).getPeerCertificate();
      response.setEncoding("utf8");
      let body = "";
      response.on("data", (part: string) => (body += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, certificate: String(subject.CN) }));
    });
    asked.on("error", reject).end();
  });
}

/** TokenReviews that the API server has answered, by its own count. */
async function tokenReviews(): Promise<number> {
  const text = String((await world.cluster.request({ method: "GET", path: "/metrics" }, signal())).body);
  const counts = [...text.matchAll(/^apiserver_request_total\{[^}]*resource="tokenreviews"[^}]*\} (\d+)/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

const account = (name: string) => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace: "default" },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-readers-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  tlsFolder = join(folder, "tls");
  await mkdir(tlsFolder);
  await mount("first");
  for (const name of ["tls.crt", "tls.key"]) await symlink(join("..data", name), join(tlsFolder, name));
  const env = (port: number) => ({
    SALLYPORT_METRICS_TLS_FOLDER: tlsFolder,
    SALLYPORT_METRICS_PORT: String(port),
    SALLYPORT_METRICS_AUTH: "token",
  });
  Object.assign(ports, { agent: await freePort(), operator: await freePort() });
  world = await startWorld(
    { folder, env: { agent: env(ports.agent), operator: env(ports.operator) } },
    stack,
    stop.signal,
  );
  stack.defer(() => stop.abort(new Error("the test is over")));
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "prometheus" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "sallyport-metrics-reader" },
    subjects: [{ kind: "ServiceAccount", name: "prometheus", namespace: "default" }],
  };
  await world.cluster.apply(
    [...checkMetricsReaders(), account("prometheus"), account("stranger"), binding],
    stop.signal,
  );
  const { platform, agent, operator } = world.processes;
  for (const each of [platform, agent, operator]) each.start(stop.signal);
  await Promise.all([agent, operator].map((each) => each.kept(signal())));
}, 300_000);

afterAll(() => stack.disposeAsync(), 60_000);

describe.each(["agent", "operator"] as const)("the metrics of the %s", (kind) => {
  const tokenOf = (name: string): Promise<string> => world.cluster.serviceAccountToken("default", name);

  test("are for a token whose account may read them", async () => {
    expect(await read(ports[kind])).toMatchObject({ status: 401, body: "" });
    expect(await read(ports[kind], "not-a-token")).toMatchObject({ status: 401, body: "" });
    expect(await read(ports[kind], await tokenOf("stranger"))).toMatchObject({ status: 403, body: "" });
    const { status, body } = await read(ports[kind], await tokenOf("prometheus"));
    expect(status).toBe(200);
    expect(body).toContain(`sallyport_${kind}_build_info`);
  });

  test("are not in plain HTTP, neither on their port nor on the health port", async () => {
    await expect(fetch(`http://127.0.0.1:${ports[kind]}/metrics`)).rejects.toThrow();
    const { healthUrl } = world.processes[kind];
    expect((await fetch(`${healthUrl}/metrics`)).status).toBe(404);
    expect((await fetch(`${healthUrl}/readyz`)).status).toBe(200);
  });

  test("cost the API server a bounded number of questions under a flood of bad tokens", async () => {
    const good = await tokenOf("prometheus");
    expect((await read(ports[kind], good)).status).toBe(200);
    const [before, since] = [await tokenReviews(), performance.now()];
    const answers: number[] = [];
    for (let round = 0; round < 25; round += 1) {
      const flood = Array.from({ length: 20 }, (_, index) => read(ports[kind], `bad-${round}-${index}`));
      answers.push(...(await Promise.all(flood)).map(({ status }) => status));
    }
    const seconds = (performance.now() - since) / 1000;
    const asked = (await tokenReviews()) - before;
    expect(answers).toHaveLength(500);
    expect(new Set(answers)).toEqual(new Set([401, 429]));
    expect(asked).toBeGreaterThan(0);
    // One address: five at once, one a second.
    expect(asked).toBeLessThanOrEqual(5 + Math.ceil(seconds));
    expect((await read(ports[kind], good)).status).toBe(200);
  });
});

test("a replaced certificate is served by both processes, and none was started again", async () => {
  expect((await read(ports.agent)).certificate).toBe("first");
  await mount("second");
  for (const kind of ["agent", "operator"] as const) {
    await eventually(
      () => read(ports[kind]),
      ({ certificate }) => certificate === "second",
    );
    expect(world.processes[kind].endedByItself).toBe(0);
  }
});
