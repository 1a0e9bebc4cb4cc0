import { SHOP } from "../world/people.ts";
import { bash } from "./command.ts";
import { apply, kubectl } from "./kubectl.ts";
import type { Scene } from "./scene.ts";

// What an engineer looks into: a pod with a server in our image, and beside it a container with what `kubectl cp` and a
// shell need, which our image does not have.

const TOOLS_IMAGE = "sallyport-e2e/tools:1";
/** The port of the server. */
export const PORT = 8080;

/** The programs of a node, which is a small Debian, as an image on that node. */
const BRING_TOOLS = `
  docker exec "$NODE" bash -euc '
    cd /; own=""
    for each in sh cat tar stat sleep ls env mkdir; do own="$own bin/$each"; done
    libs=$(ldd $own | grep -oE "/\\S+" | grep -v ":$" | sort -u)
    tar -ch --hard-dereference $own $libs 2>/dev/null' |
    docker import --change 'ENV PATH=/bin' - "$IMAGE" >/dev/null
  docker save "$IMAGE" | docker exec --interactive "$NODE" ctr --namespace k8s.io images import - >/dev/null
  docker rmi "$IMAGE" >/dev/null`;

/** Says its requests back, and where it runs. */
const SERVER = `require("http").createServer((asked, answer) => {
    answer.setHeader("x-pod", require("os").hostname());
    asked.pipe(answer);
  }).listen(${PORT});`;
const ORDERS = 'n=0; while :; do n=$((n + 1)); echo "order $n served"; sleep 1; done';

export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: 65_532,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** Deployment and Service `api`; its only pod is ready. */
export async function startApi(scene: Scene, signal: AbortSignal): Promise<void> {
  const node = `${scene.cluster.name}-worker`;
  await bash(BRING_TOOLS, { env: { ...scene.docker, NODE: node, IMAGE: TOOLS_IMAGE } }, signal);
  await apply(scene, [deployment(scene, node), service()], signal);
  await kubectl(scene, ["rollout", "status", "deployment/api", "-n", SHOP, "--timeout=120s"], signal);
}

export async function removeApi(scene: Scene, signal: AbortSignal): Promise<void> {
  await kubectl(scene, ["delete", "deployment,service", "api", "-n", SHOP, "--wait=false"], signal);
}

function deployment({ image }: Scene, nodeName: string) {
  const labels = { app: "api" };
  const common = {
    securityContext: RESTRICTED,
    imagePullPolicy: "IfNotPresent",
    volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
  };
  const containers = [
    { ...common, name: "tools", image: TOOLS_IMAGE, command: ["sh", "-c", ORDERS] },
    { ...common, name: "api", image: image.name, command: ["/app/node", "-e", SERVER] },
  ];
  const annotations = { "kubectl.kubernetes.io/default-container": "tools" };
  const spec = { nodeName, terminationGracePeriodSeconds: 1, containers, volumes: [{ name: "tmp", emptyDir: {} }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "api", namespace: SHOP },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels, annotations }, spec } },
  };
}

function service() {
  const spec = { selector: { app: "api" }, ports: [{ port: 80, targetPort: PORT }] };
  return { apiVersion: "v1", kind: "Service", metadata: { name: "api", namespace: SHOP }, spec };
}
