import { spawn } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { freePort } from "../../../lab/cluster/ports.ts";

const EXAMPLE = join(import.meta.dirname, "../../../examples/operator");
const soon = { timeout: 60_000, interval: 100 } as const;

/** Copies the example beside the installed packages: what it imports is what npm would give. */
export async function copyExample(folder: string): Promise<void> {
  for (const file of ["operator.ts", "page-crd.yaml", "access.yaml", "page.yaml"]) {
    await cp(join(EXAMPLE, file), join(folder, file));
  }
}

interface Replica {
  readonly port: number;
  /** @returns its exit code, and what it has written */
  stop(): Promise<{ readonly code: number | null; readonly said: string }>;
}

/** Two replicas of examples/operator, as its own account: publish, change and take back a page while the leader changes. */
export async function expectPages(cluster: Cluster, folder: string, node: string): Promise<void> {
  const kubectl = async (...args: string[]): Promise<string> => (await cluster.kubectl(args)).stdout;
  const published = (): Promise<string> =>
    kubectl("get", "cm", "default.hello", "-n", "pages-system", "-o=jsonpath={.data.text}", "--ignore-not-found");
  await kubectl("apply", "-f", join(folder, "page-crd.yaml"), "-f", join(folder, "access.yaml"));
  await kubectl("wait", "--for=condition=Established", "crd/pages.example.com");
  const kubeconfig = await cluster.kubeconfigForServiceAccount("pages-system", "page-operator", 3600);
  const first = await replica(node, folder, kubeconfig, await freePort());
  await vi.waitFor(async () => expect(await metric(first, "leader_election_master_status")).toBe(1), soon);
  const second = await replica(node, folder, kubeconfig, await freePort());
  await kubectl("apply", "-f", join(folder, "page.yaml"));
  await kubectl("wait", "--for=condition=Ready", "page/hello");
  expect(await published()).toBe("Hello from a custom resource");
  await vi.waitFor(
    async () => expect(await kubectl("describe", "page/hello")).toContain("published 28 characters"),
    soon,
  );
  expect(await metric(first, 'controller_runtime_reconcile_total{controller="page",result="requeue_after"}')).toBe(1);

  expect((await first.stop()).code).toBe(0);
  await kubectl("patch", "page/hello", "--type=merge", "-p", '{"spec":{"text":"Changed"}}');
  await vi.waitFor(async () => expect(await published()).toBe("Changed"), soon);
  // Returns when the object is gone, so when the finalizer is.
  await kubectl("delete", "page/hello", "--timeout=60s");
  expect(await published()).toBe("");
  const { code, said } = await second.stop();
  expect(code).toBe(0);
  // The last word on a page is its deletion, which is one run: a second one would find the page gone.
  expect(said).not.toContain("reconcile failed");
}

async function replica(node: string, folder: string, kubeconfig: string, port: number): Promise<Replica> {
  const env = { ...process.env, KUBECONFIG: kubeconfig, PORT: String(port) };
  const child = spawn(node, [join(folder, "operator.ts")], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    return { code: await exited, said };
  };
  await vi.waitFor(async () => {
    expect(child.exitCode, said).toBeNull();
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  }, soon);
  return { port, stop };
}

async function metric({ port }: Replica, series: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(series));
  return Number(line?.slice(line.lastIndexOf(" ") + 1));
}
