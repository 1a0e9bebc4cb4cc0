import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { bound, GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { command } from "./command.ts";
import { apply, kubectl } from "./kubectl.ts";
import { APPROVER, type Scene } from "./scene.ts";

export const RELEASE = "sallyport";
export const CHART = join(import.meta.dirname, "../../deploy/helm/sallyport");
const KEY_SECRET = "sallyport-runtime-key";
const AUTHORITY = "vendor-authority";

/** Enforces the strictest PodSecurity level, and not only warns. */
const RESTRICTED = { "pod-security.kubernetes.io/enforce": "restricted" };

export interface Installed {
  /** From `helm install` until all pods are ready. */
  readonly readyInMs: number;
}

/** The customer's side: namespaces, the runtime key, the chart with NetworkPolicies on, and a real workload. */
export async function installSallyport(scene: Scene, values: object, signal: AbortSignal): Promise<Installed> {
  await prepare(scene, signal);
  const startedAt = performance.now();
  await helm(scene, ["install", RELEASE, CHART, "--wait", "--timeout", "180s"], values, signal);
  const readyInMs = performance.now() - startedAt;
  await apply(scene, [bound("approvers", GRANTS, "sallyport-approver", APPROVER)], signal);
  await kubectl(scene, ["rollout", "status", "deployment/web", "-n", SHOP, "--timeout=120s"], signal);
  return { readyInMs };
}

/** Upgrades to other values; without any, back to those of the installation. */
export async function upgradeSallyport(scene: Scene, values: object, signal: AbortSignal): Promise<void> {
  await helm(scene, ["upgrade", RELEASE, CHART, "--wait", "--timeout", "180s"], values, signal);
}

/** The given values win over those of this scene. @throws Error with helm's message */
export async function helm(
  scene: Scene,
  args: readonly string[],
  values: object | undefined,
  signal: AbortSignal,
): Promise<string> {
  const home = join(scene.folder, "helm");
  await mkdir(home, { recursive: true });
  const files: string[] = [];
  for (const [index, each] of values === undefined ? [] : [sceneValues(scene), values].entries()) {
    const file = join(home, `values-${index}.yaml`);
    await writeFile(file, stringify(each));
    files.push("-f", file);
  }
  const env = {
    KUBECONFIG: scene.cluster.adminKubeconfig,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
  };
  return command(scene.programs.helm, [...args, "-n", SYSTEM, ...files], { env, timeoutMs: 300_000 }, signal);
}

function sceneValues({ vendor, cluster }: Scene): object {
  return {
    platform: { url: vendor.url },
    runtimeKey: { existingSecret: KEY_SECRET },
    trustedCA: { configMap: AUTHORITY },
    deployments: { [vendor.deploymentId]: [SHOP] },
    operationPolicy: { defaults: { "read-only": "auto" } },
    // Decisions come seconds after the policies, and nobody forges a name.
    operator: { extraEnv: [{ name: "SALLYPORT_ADMISSION_SETTLE_TIME", value: "0s" }] },
    networkPolicy: {
      enabled: true,
      platform: { cidrs: [`${new URL(vendor.url).hostname}/32`] },
      // The network asks its policies after it has replaced the Service's address by this one.
      apiServer: { cidrs: [`${cluster.controlPlaneAddress}/32`] },
    },
  };
}

async function prepare(scene: Scene, signal: AbortSignal): Promise<void> {
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: RESTRICTED } });
  await apply(scene, [namespace(SYSTEM), namespace(SHOP)], signal);
  await apply(
    scene,
    [
      runtimeKeySecret(await readFile(scene.vendor.keyFiles.runtime, "utf8")),
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: AUTHORITY, namespace: SYSTEM },
        data: { "ca.crt": scene.vendor.authority },
      },
      workload(scene.image.name),
    ],
    signal,
  );
}

export function runtimeKeySecret(key: string) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: KEY_SECRET, namespace: SYSTEM },
    stringData: { key },
  };
}

/** Prints a line a second. Runs in our image, because each node has it and nothing can be pulled. */
const PROGRAM =
  'let n = 0; setInterval(() => console.log("order", ++n, "served"), 1000); process.on("SIGTERM", () => process.exit(0));';

function workload(image: string) {
  const labels = { app: "web" };
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  };
  const container = { name: "web", image, command: ["/app/node", "-e", PROGRAM], securityContext };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: SHOP },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 5, containers: [container] } },
    },
  };
}
