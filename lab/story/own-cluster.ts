import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startCluster } from "../cluster/cluster.ts";
import type { Programs } from "../cluster/programs.ts";
import { ADMISSION_API, listsStamping, type Target } from "./target.ts";

const NODES = 2;
const APPROVER = { user: "robin@customer.example", groups: ["platform-team"] } as const;

/** A day: so that the tokens of agent and operator outlast a demonstration. */
const TOKEN_SECONDS = 86_400;

/** The API server's audit log records who changed the workload and who decided; the story is checked against it. */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Metadata",
      verbs: ["create", "update", "patch", "delete"],
      resources: [
        { group: "apps", resources: ["deployments", "deployments/scale"] },
        { group: "sallyport.dev", resources: ["accessgrants"] },
      ],
    },
    { level: "None" },
  ],
} as const;

/** A control plane of our own in `folder`, with simulated nodes. It is deleted when it stops. */
export async function startOwnCluster(folder: string, programs: Programs, signal: AbortSignal): Promise<Target> {
  const dir = join(folder, "cluster");
  await mkdir(dir, { recursive: true });
  const policy = join(dir, "audit-policy.json");
  const auditLog = join(folder, "logs", "audit.log");
  await writeFile(policy, JSON.stringify(AUDIT_POLICY));
  const cluster = await startCluster(
    {
      dir,
      programs,
      controllers: true,
      kwok: { nodes: NODES },
      apiserverArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`, "--audit-log-mode=blocking"],
    },
    signal,
  );
  // A short path, because people read and type it.
  const approverKubeconfig = join(folder, "approver.kubeconfig");
  await copyFile(cluster.kubeconfigFor(APPROVER), approverKubeconfig);
  const { body } = await cluster.request({ path: "/version" }, signal);
  const version = typeof body === "object" && body !== null && "gitVersion" in body ? String(body.gitVersion) : "";
  return {
    description: `${cluster.server}, Kubernetes ${version}, ${NODES} simulated nodes`,
    server: cluster.server,
    stamps: listsStamping(JSON.stringify((await cluster.request({ path: ADMISSION_API }, signal)).body)),
    adminKubeconfig: cluster.adminKubeconfig,
    approver: { user: APPROVER.user, kubeconfig: approverKubeconfig },
    workloadNamespace: "shop",
    kubectlPath: programs.kubectl,
    kubectl: (args, options, kubectlSignal) => cluster.kubectl(args, { ...options, signal: kubectlSignal }),
    apply: (manifests, applySignal) => cluster.apply(manifests as readonly Record<string, unknown>[], applySignal),
    serviceAccountKubeconfig: (namespace, name, tokenSignal) =>
      cluster.kubeconfigForServiceAccount(namespace, name, TOKEN_SECONDS, tokenSignal),
    auditLog,
    programs: Object.values(cluster.programs),
    stop: () => cluster.stop(),
  };
}
