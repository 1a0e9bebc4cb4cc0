import type { ApiAnswer } from "../../../lab/cluster/api-request.ts";
import { ApiUser } from "../../../lab/cluster/api-user.ts";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { ownParamsFound } from "../../../lab/cluster/policies-in-force.ts";
import { CORDONED_BY_ANNOTATION, DEFAULT_NAMES, MACHINE_LABEL, REMOVED_LABEL } from "../../../src/crds/group.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { MACHINE_APPROVER } from "../../../src/crds/manifests/roles/machine-roles.ts";
import { namespace } from "../../world/installation.ts";
import { bound, GRANTS, SHOP, SYSTEM } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { APPROVER, csr, drain, join, KEY, node, pod, pool, UID, type Who, WISH } from "./machine-writes.ts";

// A pool with machines that have joined, wait, were refused and were removed. Each account of the processes has every
// right: what is refused here is refused by policies alone.

const ONLOOKER = "bob@customer.example";
const PLACE = `/apis/sallyport.dev/v1alpha1/namespaces/${GRANTS}`;

function bindAdmin(name: string, subject: object): Record<string, unknown> {
  const rights = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: rights,
    subjects: [subject],
  };
}
const MACHINE = { [MACHINE_LABEL]: "true" };
const cordoned = (name: string, labels: object = {}): object =>
  node(name, { unschedulable: true }, { labels, annotations: { [CORDONED_BY_ANNOTATION]: UID } });
const account = (name: string): object => ({ kind: "ServiceAccount", name, namespace: SYSTEM });

/** Returns the credentials of everybody, on a cluster with our installation. */
export async function setMachineScene(cluster: Cluster): Promise<Record<Who, string>> {
  await cluster.apply(openMachines(DEFAULT_NAMES, { allowForce: true }));
  const unnamed = (of: string) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: of },
  });
  await cluster.apply([namespace(SHOP), unnamed(SHOP), unnamed("kube-system")]);
  await ownParamsFound(openMachines(), (call, during) => cluster.request(call, during), signal());
  await cluster.apply([
    ...[pool, join(KEY, "m-1"), join("b".repeat(64), "m-gone", { labels: { [REMOVED_LABEL]: "true" } })],
    node("m-1", {}, { labels: MACHINE }),
    cordoned("m-cordoned", MACHINE),
    cordoned("foreign"),
    cordoned("control-plane-1", { ...MACHINE, "node-role.kubernetes.io/control-plane": "" }),
    ...[join("d".repeat(64), "m-4"), join("e".repeat(64), "m-5")],
    ...[pod("shop"), pod("kube-system"), csr("of-a-person"), drain("persons")],
    // What policies must hold is tried by accounts that have every right.
    bindAdmin("careless-operator", account("sallyport-operator")),
    bindAdmin("careless-agent", account("sallyport-agent")),
    bindAdmin("careless-machines", account("sallyport-machines")),
    bindAdmin("careless-join", account("sallyport-join")),
    bindAdmin("living-node", { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:node:m-1" }),
    bindAdmin("careless-node", { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:node:m-gone" }),
    bound("machine-approvers", GRANTS, MACHINE_APPROVER, APPROVER, "Role"),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "patches", namespace: GRANTS },
      rules: [{ apiGroups: ["sallyport.dev"], resources: ["machinejoins"], verbs: ["get", "patch"] }],
    },
    bound("onlookers", GRANTS, "patches", ONLOOKER, "Role"),
  ] as Record<string, unknown>[]);
  const ofAccount = (name: string) => cluster.kubeconfigForServiceAccount(SYSTEM, `sallyport-${name}`);
  const agent = await ofAccount("agent");
  using agents = new ApiUser(agent);
  const wished = drain("wished", { requested: WISH });
  await made(agents.request({ method: "POST", path: `${PLACE}/machinedrains`, body: wished }));
  const refused = `${PLACE}/machinejoins/workers-dddddddddddd`;
  const contentType = "application/merge-patch+json";
  for (const [path, body] of [
    [refused, { spec: { deniedReason: "not ours" } }],
    [`${refused}/status`, { status: { state: "Denied" } }],
    [`${PLACE}/machinejoins/workers-eeeeeeeeeeee/status`, { status: { state: "Denied" } }],
  ] as const) {
    await made(cluster.request({ method: "PATCH", path, body, contentType }));
  }
  using living = new ApiUser(cluster.kubeconfigFor({ user: "system:node:m-1", groups: ["system:nodes"] }));
  const usages = ["digital signature", "server auth"];
  const body = csr("to-serve", { signerName: "kubernetes.io/kubelet-serving", usages });
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  await made(living.request({ method: "POST", path, body }));
  return {
    agent,
    join: await ofAccount("join"),
    machines: await ofAccount("machines"),
    operator: await ofAccount("operator"),
    approver: cluster.kubeconfigFor({ user: APPROVER }),
    onlooker: cluster.kubeconfigFor({ user: ONLOOKER }),
    living: cluster.kubeconfigFor({ user: "system:node:m-1" }),
    node: cluster.kubeconfigFor({ user: "system:node:m-gone" }),
  };
}

async function made(answer: Promise<ApiAnswer>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`not written: ${JSON.stringify(body)}`);
}
