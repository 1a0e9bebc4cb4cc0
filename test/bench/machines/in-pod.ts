import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { mib } from "../agent/options.ts";
import { usageOf } from "../agent/usage.ts";
import { shipped } from "../as-shipped.ts";
import { readyOn, running } from "../running.ts";

const { systemNamespace } = DEFAULT_NAMES;
const TOKEN_SECONDS = 7_200;

/** A process as shipped, with a pod's account and without the weight of a kubeconfig reader; ready. */
export async function inPod(
  stack: AsyncDisposableStack,
  cluster: Cluster,
  kind: "agent" | "operator" | "join" | "machine-controller",
  account: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Program> {
  const program = await shipped(stack);
  const token = await cluster.serviceAccountToken(systemNamespace, account, TOKEN_SECONDS);
  await program.setAccount({ ca: await readFile(cluster.caFile, "utf8"), token, namespace: systemNamespace });
  const [port, api] = [await freePort(), new URL(cluster.server)];
  const [path = "", ...args] = program.process(kind);
  const started = running(stack, {
    ...{ name: kind, path, args, logFile: join(cluster.dir, `${kind}-${port}.log`), isReady: readyOn(port) },
    env: {
      PATH: process.env.PATH ?? "",
      KUBERNETES_SERVICE_HOST: api.hostname,
      KUBERNETES_SERVICE_PORT: api.port,
      SALLYPORT_LOG_FORMAT: "json",
      SALLYPORT_HEALTH_HOST: "127.0.0.1",
      SALLYPORT_HEALTH_PORT: String(port),
      ...env,
    },
  });
  await started.whenReady(signal);
  return started;
}

/** Memory and processor time of a process from now on. */
export function measured({
  pid,
}: Program): () => { readonly text: string; readonly mib: number; readonly core: number } {
  const [before, startMs] = [usageOf(pid), performance.now()];
  return () => {
    const after = usageOf(pid);
    const core = (after.cpuMs - before.cpuMs) / (performance.now() - startMs);
    const text = `${mib(after.rssKib)} (${mib(before.rssKib)} before, peak ${mib(after.peakKib)}), ${core.toFixed(2)} core`;
    return { text, mib: after.rssKib / 1_024, core };
  };
}
