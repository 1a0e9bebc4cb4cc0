import { SHOP } from "../../world/people.ts";
import { apply, kubectl } from "../kubectl.ts";
import type { Scene } from "../scene.ts";

// What runs on a machine: two replicas that a budget keeps, wherever a node has the label of the pool.

const LABEL = "example.com/mill";
/** Labels of the pool, which kubelets of its machines put on their nodes. */
export const MILL_LABELS = { [LABEL]: "yes" };

const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};
const PROGRAM =
  'let n = 0; setInterval(() => console.log("sack", ++n), 500); process.on("SIGTERM", () => process.exit(0));';

/** Both replicas are ready. */
export async function startMill(scene: Scene, signal: AbortSignal): Promise<void> {
  const labels = { app: "mill" };
  const container = {
    name: "mill",
    image: scene.image.name,
    command: ["/app/node", "-e", PROGRAM],
    securityContext: RESTRICTED,
  };
  const pod = { nodeSelector: MILL_LABELS, terminationGracePeriodSeconds: 5, containers: [container] };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "mill", namespace: SHOP },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
  };
  await apply(scene, [deployment], signal);
  await keepMill(scene, 2, signal);
  await kubectl(scene, ["rollout", "status", "deployment/mill", "-n", SHOP, "--timeout=120s"], signal);
}

/** The budget. */
export async function keepMill(scene: Scene, minAvailable: number, signal: AbortSignal): Promise<void> {
  const spec = { minAvailable, selector: { matchLabels: { app: "mill" } } };
  const metadata = { name: "mill", namespace: SHOP };
  await apply(scene, [{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec }], signal);
}

/** Where else the mill may run. */
export async function openFor(scene: Scene, node: string, signal: AbortSignal): Promise<void> {
  await kubectl(scene, ["label", "node", node, `${LABEL}=yes`], signal);
}

export async function removeMill(scene: Scene, node: string, signal: AbortSignal): Promise<void> {
  await kubectl(scene, ["delete", "deployment,pdb", "mill", "-n", SHOP, "--ignore-not-found", "--wait=false"], signal);
  await kubectl(scene, ["label", "node", node, `${LABEL}-`], signal);
}
