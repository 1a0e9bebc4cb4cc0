import { execFile } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FriendlyError } from "../../src/cli/kernel/command.ts";
import type { Manifest } from "../../src/crds/manifest.ts";
import { kubeconfigText } from "../cluster/kubeconfig.ts";
import { ADMISSION_API, type KubectlAnswer, listsStamping, type Target } from "./target.ts";

const WORKLOAD_NAMESPACE = "sallyport-demo";

/** Marks a cluster that an earlier `npm start` prepared. An installation without it belongs to another person. */
export const MARK = { name: "made-by-sallyport-dev", namespace: "sallyport-system" } as const;

/** Six hours: many clusters allow no longer tokens. */
const TOKEN_SECONDS = 6 * 3600;

/**
 * The cluster that the current context of `kubeconfig` names, and no other. The approver is the kubeconfig's user,
 * because we cannot make credentials for another one there.
 *
 * @throws FriendlyError when it does not answer, or has a Sallyport that this command did not install.
 */
export async function useNamedCluster(
  folder: string,
  kubeconfig: string,
  kubectlPath: string,
  signal: AbortSignal,
): Promise<Target> {
  await access(kubeconfig).catch((cause: unknown) => {
    throw new FriendlyError(`${kubeconfig} cannot be read`, { cause });
  });
  const dir = join(folder, "cluster");
  await mkdir(dir, { recursive: true });
  const kubectl: Target["kubectl"] = (args, options, kubectlSignal) =>
    runKubectl(kubectlPath, ["--kubeconfig", options.kubeconfig ?? kubeconfig, ...args], options.stdin, kubectlSignal);
  const ask = async (args: readonly string[], stdin?: string) => {
    const { code, stdout, stderr } = await kubectl(args, stdin === undefined ? {} : { stdin }, signal);
    if (code !== 0)
      throw new FriendlyError(`kubectl ${args.slice(0, 3).join(" ")} in the named cluster: ${stderr.trim()}`);
    return stdout;
  };
  const user = await ask(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]);
  const [server = "", authority = ""] = (
    await ask([
      "config",
      "view",
      "--raw",
      "--minify",
      "--flatten",
      "-o",
      'jsonpath={.clusters[0].cluster.server}{"\\n"}{.clusters[0].cluster.certificate-authority-data}',
    ])
  ).split("\n");
  await refuseForeignInstallation(ask);
  const stamps = listsStamping(await ask(["get", "--raw", ADMISSION_API]));
  // kubectl gets nothing at all when the API server does not know one of the kinds.
  const stampers = stamps ? ",mutatingadmissionpolicy,mutatingadmissionpolicybinding" : "";
  return {
    description: `${server}, named by ${kubeconfig}`,
    server,
    stamps,
    adminKubeconfig: kubeconfig,
    approver: { user, kubeconfig },
    workloadNamespace: WORKLOAD_NAMESPACE,
    kubectlPath,
    kubectl,
    apply: (manifests, applySignal) => applyAll(kubectl, manifests, applySignal),
    async serviceAccountKubeconfig(namespace, name) {
      const token = (await ask(["create", "token", name, "-n", namespace, `--duration=${TOKEN_SECONDS}s`])).trim();
      const ca = Buffer.from(authority, "base64").toString();
      const file = join(dir, `${name}.kubeconfig`);
      await writeFile(file, kubeconfigText(name, { server, ca, token }), { mode: 0o600 });
      return file;
    },
    programs: [],
    removal: [
      `kubectl --kubeconfig ${kubeconfig} delete namespace ${WORKLOAD_NAMESPACE} sallyport-grants sallyport-system`,
      `kubectl --kubeconfig ${kubeconfig} get crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding${stampers} -o name | grep sallyport | xargs kubectl --kubeconfig ${kubeconfig} delete`,
    ],
    stop: async () => undefined,
  };
}

async function refuseForeignInstallation(ask: (args: readonly string[]) => Promise<string>): Promise<void> {
  const found = async (args: readonly string[]) =>
    (await ask(["get", ...args, "--ignore-not-found", "-o", "name"])).trim() !== "";
  if (!(await found(["namespace", MARK.namespace]))) return;
  if (await found(["configmap", MARK.name, "-n", MARK.namespace])) return;
  throw new FriendlyError(
    `this cluster has a namespace ${MARK.namespace} that \`npm start\` did not make: it is not touched. Name another cluster.`,
  );
}

async function applyAll(
  kubectl: Target["kubectl"],
  manifests: readonly Manifest[],
  signal: AbortSignal,
): Promise<void> {
  const early = (manifest: Manifest) => manifest.kind === "CustomResourceDefinition" || manifest.kind === "Namespace";
  const definitions = manifests
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .map(({ metadata }) => `crd/${metadata.name}`);
  for (const items of [manifests.filter(early), manifests.filter((manifest) => !early(manifest))]) {
    if (items.length === 0) continue;
    const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    check(await kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { stdin }, signal));
    if (items.some(early) && definitions.length > 0) {
      check(await kubectl(["wait", "--for=condition=Established", "--timeout=60s", ...definitions], {}, signal));
    }
  }
}

function check({ code, stderr }: KubectlAnswer): void {
  if (code !== 0) throw new FriendlyError(`the named cluster refused what Sallyport needs:\n${stderr.trim()}`);
}

function runKubectl(
  path: string,
  args: readonly string[],
  stdin: string | undefined,
  signal: AbortSignal,
): Promise<KubectlAnswer> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      path,
      [...args],
      { signal, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (signal.aborted) reject(signal.reason);
        else if (error !== null && typeof error.code !== "number") reject(error);
        else resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
      },
    );
    child.stdin?.on("error", () => undefined); // kubectl may end before it has read all of it; its exit code tells.
    child.stdin?.end(stdin ?? "");
  });
}
