import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { apiRequest } from "../../../lab/cluster/api-request.ts";
import { type Kubelet, type Pod, startKubelet } from "../../../lab/cluster/kubelet.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { signal } from "../../world/wait.ts";

// What the other files of this folder stand on: the node of our tests without a tunnel in between.
const cluster = useCluster();
let kubelet: Kubelet;
let pod: Pod;

beforeAll(async () => {
  kubelet = await startKubelet(cluster(), signal());
  pod = await kubelet.pod("default", "api", { app: "api" });
});
afterAll(() => kubelet?.stop());

it("answers nobody but the API server: it would be a shell for each user of this machine", async () => {
  const { body } = await cluster().request({ path: "/api/v1/nodes" });
  const nodes = body as { items: { status: { daemonEndpoints: { kubeletEndpoint: { Port: number } } } }[] };
  const server = `https://127.0.0.1:${nodes.items[0]?.status.daemonEndpoints.kubeletEndpoint.Port}`;
  const ca = cluster().backend.certificate;
  for (const nobody of [{}, cluster().clientCertificate({ user: "root", groups: ["system:masters"] })]) {
    const asked = apiRequest({ server, ca, ...nobody }, { path: "/healthz" }, signal());
    await expect(asked).rejects.toThrow(/alert|ECONNRESET|EPIPE/);
  }
});

const kubectl = (...args: string[]) => cluster().kubectl(args);

it("runs commands, and tells how they end", async () => {
  const { code, stdout, stderr } = await kubectl("exec", "api", "--", "sh", "-c", "echo out; echo err >&2; exit 7");
  expect([code, stdout, stderr]).toEqual([7, "out\n", expect.stringContaining("err\n")]);
});

it("reads what is sent to a command", async () => {
  const sent = cluster().kubectl(["exec", "-i", "api", "--", "cat"], { stdin: "given" });
  expect((await sent).stdout).toBe("given");
});

it("shows a log", async () => {
  for (const line of ["one", "two", "three"]) pod.log(line);
  expect((await kubectl("logs", "api", "--tail=2")).stdout).toBe("two\nthree\n");
});

it("forwards a port", async () => {
  const port = await freePort();
  const server = createServer((socket) => socket.pipe(socket)).listen(port, "127.0.0.1");
  await once(server, "listening");
  const local = await freePort();
  const kubeconfig = cluster().adminKubeconfig;
  const child = spawn(cluster().kubectlPath, ["--kubeconfig", kubeconfig, "port-forward", "api", `${local}:${port}`]);
  try {
    await once(child.stdout, "data");
    const socket = connect(local, "127.0.0.1").setEncoding("utf8");
    socket.write("through");
    expect((await once(socket, "data"))[0]).toBe("through");
    socket.destroy();
  } finally {
    child.kill();
    server.close();
  }
});
