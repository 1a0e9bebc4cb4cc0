import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { installRecipe } from "../../lab/cluster/go-build.ts";
import { ensureRecipe, findPrograms } from "../../lab/cluster/programs.ts";
import { bash, command } from "./command.ts";
import { type Docker, Unavailable } from "./daemon.ts";
import { noteDeletion } from "./run-folder.ts";

const KIND = { name: "kind", module: "sigs.k8s.io/kind", version: "v0.33.0", command: "" } as const;
const WORKERS = 2;

export interface KindCluster {
  readonly name: string;
  /** Path of a kubeconfig that may do everything. */
  readonly adminKubeconfig: string;
  readonly kubectl: string;
  /** The gateway of the nodes' network: the machine on which the daemon runs. */
  readonly gateway: string;
  readonly controlPlaneAddress: string;
  /** Copies an image of the daemon to each node. */
  load(image: string, signal: AbortSignal): Promise<void>;
  /** Writes an image of the nodes as a tar archive with an OCI layout. `docker save` of an older daemon writes another form. */
  save(image: string, file: string, signal: AbortSignal): Promise<void>;
  /** Path of a kubeconfig with a client certificate for this user and nothing else. */
  kubeconfigFor(user: string, signal: AbortSignal): Promise<string>;
  delete(): Promise<void>;
}

/** One control plane and two workers: real kubelets, real pods. */
export async function createKindCluster(
  docker: Docker,
  { image, folder }: { readonly image: string; readonly folder: string },
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<KindCluster> {
  const installed = await ensureRecipe(installRecipe(KIND, "half a minute on 2 cores, once"), { say }, signal);
  const kind = join(installed, "kind");
  const { kubectl } = await findPrograms({ say }, signal);
  await allowInotify();
  await runsPrivileged(docker, image, signal);
  await mkdir(folder, { recursive: true });
  const name = `sallyport-e2e-${process.pid}`;
  const adminKubeconfig = join(folder, "admin.kubeconfig");
  const config = join(folder, "kind.yaml");
  await writeFile(config, stringify(clusterConfig(docker.publishedAt)));
  const run = (args: readonly string[], each: AbortSignal) => command(kind, args, { env: docker.env }, each);
  const deletion = ["delete", "cluster", "--name", name, "--kubeconfig", adminKubeconfig];
  await noteDeletion({ program: kind, args: deletion, env: docker.env });
  const remove = async (): Promise<void> => {
    await run(deletion, new AbortController().signal);
  };
  try {
    const file = ["--kubeconfig", adminKubeconfig, "--config", config];
    await run(["create", "cluster", "--name", name, "--image", image, "--wait", "180s", ...file], signal);
    await publishes(adminKubeconfig, signal);
    const wait = async (...args: readonly string[]) =>
      command(kubectl, ["--kubeconfig", adminKubeconfig, "wait", ...args, "--timeout=180s"], {}, signal);
    await wait("--for=condition=Ready", "node", "--all");
    await wait("--for=condition=Ready", "pod", "--all", "-n", "kube-system");
  } catch (error) {
    await remove().catch(() => undefined);
    throw error;
  }
  const inspect = async (...args: readonly string[]) => (await docker.run(["inspect", ...args], {}, signal)).trim();
  const controlPlane = `${name}-control-plane`;
  return {
    name,
    adminKubeconfig,
    kubectl,
    gateway: await inspect("--format", "{{.NetworkSettings.Networks.kind.Gateway}}", controlPlane),
    controlPlaneAddress: await inspect("--format", "{{.NetworkSettings.Networks.kind.IPAddress}}", controlPlane),
    load: async (product, each) => {
      await run(["load", "docker-image", product, "--name", name], each);
    },
    async save(product, file, each) {
      const env = { ...docker.env, NODE: controlPlane, IMAGE: `docker.io/${product}`, FILE: file };
      await bash('docker exec "$NODE" ctr --namespace k8s.io images export - "$IMAGE" >"$FILE"', { env }, each);
    },
    async kubeconfigFor(user, each) {
      const kubeadm = ["kubeadm", "kubeconfig", "user", "--config", "/kind/kubeadm.conf", "--client-name", user];
      const made = parse(await docker.run(["exec", controlPlane, ...kubeadm], {}, each));
      // kubeadm's certificate names the server by its name among the nodes.
      const { clusters } = parse(await readFile(adminKubeconfig, "utf8"));
      made.clusters[0].cluster = clusters[0].cluster;
      const path = join(folder, `${user.replaceAll(/[^\w.-]/g, "-")}.kubeconfig`);
      await writeFile(path, stringify(made), { mode: 0o600 });
      return path;
    },
    delete: remove,
  };
}

/** @throws Unavailable where the daemon may not, for instance without root or in a sandbox */
async function runsPrivileged(docker: Docker, image: string, signal: AbortSignal): Promise<void> {
  const probe = ["run", "--rm", "--privileged", "--entrypoint", "/bin/true", image];
  await docker.run(probe, { timeoutMs: 60_000 }, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new Unavailable("the Docker daemon that answers runs no privileged containers, which nodes have to be.", {
      cause,
    });
  });
}

/** @throws Unavailable where the daemon runs on another machine, for instance with a socket shared into a container */
async function publishes(kubeconfig: string, signal: AbortSignal): Promise<void> {
  const { clusters } = parse(await readFile(kubeconfig, "utf8"));
  const { hostname, port } = new URL(clusters[0].cluster.server);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, "connect", { signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]) });
  } catch (cause) {
    signal.throwIfAborted();
    throw new Unavailable("the Docker daemon that answers publishes its ports elsewhere than on this machine.", {
      cause,
    });
  } finally {
    socket.destroy();
  }
}

const KUBELET = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };

function clusterConfig({ address, port }: Docker["publishedAt"]): object {
  return {
    kind: "Cluster",
    apiVersion: "kind.x-k8s.io/v1alpha4",
    networking: { apiServerAddress: address, ...(port !== undefined && { apiServerPort: port }) },
    // The kubelet brings a changed Secret into its pods within this time. The default is a minute or more, for each
    // test that waits.
    kubeadmConfigPatches: [stringify({ ...KUBELET, syncFrequency: "10s" })],
    nodes: [{ role: "control-plane" }, ...Array.from({ length: WORKERS }, () => ({ role: "worker" }))],
  };
}

/** Each node's systemd, containerd and kubelet hold inotify instances; the usual 128 are too few for three nodes. */
async function allowInotify(): Promise<void> {
  const file = "/proc/sys/fs/inotify/max_user_instances";
  const needed = 1_024;
  try {
    if (Number(await readFile(file, "utf8")) < needed) await writeFile(file, String(needed));
  } catch {
    // Not root, or no Linux: then the machine's administrator has set it, or kind says what is missing.
  }
}
