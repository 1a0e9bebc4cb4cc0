import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { CORDONED_BY_ANNOTATION, DEFAULT_NAMES, REMOVED_LABEL } from "../../../src/crds/group.ts";
import { installation, openMachines } from "../../../src/crds/manifests/installation.ts";
import { MACHINE_APPROVER } from "../../../src/crds/manifests/roles/machine-roles.ts";
import { type Attack, inForce, runAs, testRefusals } from "../attacks.ts";
import { WITH_MACHINES } from "../installed.ts";

// None of our processes runs. An attacker has the credentials of one account and types any command.

const cluster = useCluster({ holds: WITH_MACHINES });
const { systemNamespace: SYSTEM, grantsNamespace: GRANTS } = DEFAULT_NAMES;
const APPROVER = "ann@customer.example";
const ONLOOKER = "bob@customer.example";
const API = "sallyport.dev/v1alpha1";
const KEY = "a".repeat(64);
const JOIN = `workers-${KEY.slice(0, 12)}`;
const GONE = `workers-${"b".repeat(12)}`;
const UID = "0badcafe-0000-4000-8000-000000000001";
const kubeconfigs: Partial<Record<Who, string>> = {};

type Who = "join" | "machines" | "agent" | "operator" | "approver" | "onlooker" | "node";

const CREATE = ["create", "--dry-run=server", "-f", "-"];
const patch = (kind: string, name: string, body: object, ...more: string[]): readonly string[] => [
  ...["patch", kind, name, "--type=merge", "--dry-run=server", "-p", JSON.stringify(body), ...more],
];
const ours = (kind: string, name: string, body: object, ...more: string[]): readonly string[] =>
  patch(kind, name, body, "-n", GRANTS, ...more);
const status = (kind: string, name: string, body: object): readonly string[] =>
  ours(kind, name, { status: body }, "--subresource=status");

const deleted = (digit: string): readonly string[] => [
  ...["delete", "mjoin", `workers-${digit.repeat(12)}`, "-n", GRANTS, "--dry-run=server"],
];

const pool = {
  apiVersion: API,
  kind: "MachinePool",
  metadata: { name: "workers", namespace: GRANTS },
  spec: { deploymentId: "dep_1" },
};
function join(key: string, nodeName: string, metadata: object = {}, said: object = {}): object {
  const facts = { os: "linux", arch: "amd64", ...said };
  const asked = { pool: "workers", machineId: nodeName, nodeName, publicKey: key, request: "TUlJQg==", facts };
  const name = `workers-${key.slice(0, 12)}`;
  return {
    apiVersion: API,
    kind: "MachineJoin",
    metadata: { name, namespace: GRANTS, ...metadata },
    spec: { ...asked, tokenId: "0123456789abcdef" },
  };
}
const LEAVE = { deploymentId: "dep_1", machineId: "m-1", revision: 0, leaving: true };
const WISH = { deploymentId: "dep_1", machineId: "m-1", revision: 1 };
function drain(name: string, spec: object = {}, metadata: object = {}): object {
  const named = { name, namespace: GRANTS, ...metadata };
  return { apiVersion: API, kind: "MachineDrain", metadata: named, spec: { nodeName: "m-1", ...spec } };
}
function node(name: string, spec: object = {}, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "Node", metadata: { name, ...metadata }, spec };
}
function pod(namespace: string): object {
  const containers = [{ name: "main", image: "example.com/main:1" }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "pod", namespace }, spec: { nodeName: "m-1", containers } };
}
function condition(type: string): object {
  return { type, status: "True", reason: "Granted", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

function csr(name: string, spec: object = {}): object {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      request: Buffer.from(requestPem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
      expirationSeconds: 86_400,
      ...spec,
    },
  };
}
let requestPem = "";

const NODES = "sallyport-machines-nodes";
const CSR = "sallyport-machines-csr";
const EVICT = "sallyport-machines-evict";
const JOIN_WORDS = "sallyport-join-words";
const JOIN_SERVER = "sallyport-join-server";
const DRAIN_WORDS = "sallyport-drain-words";
const CONTROLLER = "sallyport-machines-words";
const REMOVED = "sallyport-removed-machines";
const NO_COMMANDS = "sallyport-no-commands-in-status";
const PASTE_ME = "first run kubectl delete namespace shop";

const ATTACKS: readonly Attack<Who>[] = [
  {
    title: "a stolen machine controller labels no node",
    ...{ policy: NODES, as: "machines", words: "only change the annotation" },
    args: patch("node", "m-1", { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } }),
  },
  {
    title: "nor taints one with a foreign key",
    ...{ policy: NODES, as: "machines", words: "only change spec.unschedulable" },
    args: patch("node", "m-1", { spec: { taints: [{ key: "evil", effect: "NoExecute" }] } }),
  },
  {
    title: "nor gives one another provider id",
    ...{ policy: NODES, as: "machines", words: "only change spec.unschedulable" },
    args: patch("node", "m-1", { spec: { providerID: "aws:///evil" } }),
  },
  {
    title: "nor annotates one for another controller",
    ...{ policy: NODES, as: "machines", words: "only change the annotation" },
    args: patch("node", "m-1", { metadata: { annotations: { "example.com/evil": "1" } } }),
  },
  {
    title: "nor deletes one that it has not cordoned",
    ...{ policy: NODES, as: "machines", words: "only delete a node that it has cordoned" },
    args: ["delete", "node", "m-1", "--dry-run=server"],
  },
  {
    title: "it asks for no certificate of another signer",
    ...{ policy: CSR, as: "machines", words: "only ask for certificates of" },
    ...{ args: CREATE, stdin: () => csr("sp-0123456789ab", { signerName: "kubernetes.io/kube-apiserver-client" }) },
  },
  {
    title: "nor under another name",
    ...{ policy: CSR, as: "machines", words: "only ask for certificates of" },
    ...{ args: CREATE, stdin: () => csr("node-csr-1") },
  },
  {
    title: "nor for a year",
    ...{ policy: CSR, as: "machines", words: "may not live longer than 7 days" },
    ...{ args: CREATE, stdin: () => csr("sp-0123456789ab", { expirationSeconds: 31_536_000 }) },
  },
  {
    title: "nor one that has no end of its own",
    ...{ policy: CSR, as: "machines", words: "may not live longer than 7 days" },
    ...{ args: CREATE, stdin: () => csr("sp-0123456789ab", { expirationSeconds: undefined }) },
  },
  {
    title: "it approves no request of a person",
    ...{ policy: CSR, as: "machines", words: "only approve its own requests" },
    ...{ args: ["certificate", "approve", "of-a-person"], isReal: true },
  },
  {
    title: "nor one of a node to serve, where the customer has not allowed it",
    ...{ policy: CSR, as: "machines", words: "only approve its own requests" },
    ...{ args: ["certificate", "approve", "to-serve"], isReal: true },
  },
  {
    title: "it evicts no pod without its uid",
    ...{ policy: EVICT, as: "machines", words: "an eviction names the pod's uid" },
    args: ["create", "--raw", "/api/v1/namespaces/shop/pods/pod/eviction?dryRun=All", "-f", "-"],
    stdin: () => ({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "pod", namespace: "shop" } }),
  },
  {
    title: "and deletes none of the cluster's own",
    ...{ policy: EVICT, as: "machines", words: "never in kube-system" },
    args: ["delete", "pod", "pod", "-n", "kube-system", "--dry-run=server"],
  },
  {
    title: "nor all of a namespace",
    ...{ policy: EVICT, as: "machines", words: "deletes one pod by its uid" },
    args: ["delete", "pod", "pod", "-n", "shop", "--dry-run=server"],
  },
  {
    title: "it approves no machine in a person's name",
    ...{ policy: CONTROLLER, as: "machines", words: "only write status, and the label" },
    args: ours("mjoin", JOIN, { metadata: { annotations: { evil: "1" } } }),
  },
  {
    title: "nor lets a removed machine back in by deleting what stands for it",
    ...{ policy: CONTROLLER, as: "machines", words: "deletes joins only that were denied by a rule" },
    args: deleted("b"),
  },
  {
    title: "nor one that a person refused",
    ...{ policy: CONTROLLER, as: "machines", words: "deletes joins only that were denied by a rule" },
    args: deleted("d"),
  },
  {
    title: "nor one that waits for a person",
    ...{ policy: CONTROLLER, as: "machines", words: "deletes joins only that were denied by a rule" },
    args: deleted("a"),
  },
  {
    title: "and speaks for no join server",
    ...{ policy: CONTROLLER, as: "machines", words: "status.joinServer is the join server's" },
    args: status("mpool", "workers", {
      joinServer: { url: "https://evil.example", pins: [`sha256//${"A".repeat(43)}=`], at: "2026-01-01T00:00:00Z" },
    }),
  },
  {
    title: "a stolen join server says nothing of who has joined",
    ...{ policy: JOIN_SERVER, as: "join", words: "only write status.joinServer" },
    args: status("mpool", "workers", { joined: 7 }),
  },
  {
    title: "nor changes a join that it made",
    ...{ policy: JOIN_SERVER, as: "join", words: "only create joins and drains, and report on pools" },
    args: ours("mjoin", JOIN, { metadata: { labels: { a: "b" } } }),
  },
  {
    title: "nor stops a node that it never let in, as that of a machine that was removed",
    ...{ policy: JOIN_SERVER, as: "join", words: "without labels" },
    ...{ args: CREATE, stdin: () => join("8".repeat(64), "control-plane-1", { labels: { [REMOVED_LABEL]: "true" } }) },
  },
  {
    title: "nor drains a node as a person would, without the customer's word",
    ...{ policy: JOIN_SERVER, as: "join", words: "only for machines that want to leave" },
    ...{ args: CREATE, stdin: () => drain("m-1-leave-0") },
  },
  {
    title: "nor has one removed that wants to leave",
    ...{ policy: JOIN_SERVER, as: "join", words: "only for machines that want to leave" },
    ...{ args: CREATE, stdin: () => drain("m-1-leave-0", { requested: { ...LEAVE, remove: true } }) },
  },
  {
    title: "nor deletes its pods by force",
    ...{ policy: JOIN_SERVER, as: "join", words: "only for machines that want to leave" },
    ...{ args: CREATE, stdin: () => drain("m-1-leave-0", { requested: LEAVE, force: true }) },
  },
  {
    title: "nor chooses the grant that covers it",
    ...{ policy: JOIN_SERVER, as: "join", words: "only for machines that want to leave" },
    ...{ args: CREATE, stdin: () => drain("m-1-leave-0", { requested: { ...LEAVE, grantName: "sp-1" } }) },
  },
  {
    title: "nor takes the name of another drain",
    ...{ policy: JOIN_SERVER, as: "join", words: "only for machines that want to leave" },
    ...{ args: CREATE, stdin: () => drain("m-2-leave-0", { requested: LEAVE }) },
  },
  {
    title: "nor ends a drain",
    ...{ policy: JOIN_SERVER, as: "join", words: "only create joins and drains" },
    args: ["delete", "drain", "persons", "-n", GRANTS, "--dry-run=server"],
  },
  {
    title: "a stolen agent does not speak for a machine",
    ...{ policy: DRAIN_WORDS, as: "agent", words: "or a machine's own" },
    ...{ args: CREATE, stdin: () => drain("m-1-leave-0", { requested: LEAVE }) },
  },
  {
    title: "a stolen join server brings no command before the approver's eyes, as what a machine says of itself",
    ...{ policy: NO_COMMANDS, as: "join", words: "a fact of a machine" },
    ...{ args: CREATE, stdin: () => join("9".repeat(64), "m-9", {}, { os: PASTE_ME }) },
  },
  {
    title: "nor does a stolen machine controller, in what it says of a drain",
    ...{ policy: NO_COMMANDS, as: "machines", words: "a message" },
    args: status("drain", "wished", { conditions: [{ ...condition("Drained"), message: PASTE_ME }] }),
  },
  {
    title: "nor lets one come back that was removed",
    ...{ policy: JOIN_WORDS, as: "machines", words: "the label sallyport.dev/removed stays" },
    args: ours("mjoin", GONE, { metadata: { labels: { [REMOVED_LABEL]: null } } }),
  },
  {
    title: "a person without the verb join lets no machine in",
    ...{ policy: JOIN_WORDS, as: "onlooker", words: "you need the verb join" },
    args: ours("mjoin", JOIN, { spec: { approved: true } }),
  },
  {
    title: "nor does an approver in another's name",
    ...{ policy: JOIN_WORDS, as: "approver", words: "approvedBy must be the user who approves" },
    args: ours("mjoin", JOIN, { spec: { approved: true, approvedBy: "carl@customer.example" } }),
  },
  {
    title: "and a service account lets none in, whatever its rights",
    ...{ policy: JOIN_WORDS, as: "operator", words: "by a person, not by a service account" },
    args: ours("mjoin", JOIN, { spec: { approved: true } }),
  },
  {
    title: "a stolen agent makes no drain that no grant covers",
    ...{ policy: DRAIN_WORDS, as: "agent", words: "drains that the platform asked for" },
    ...{ args: CREATE, stdin: () => drain("mine") },
  },
  {
    title: "nor cancels a person's",
    ...{ policy: DRAIN_WORDS, as: "agent", words: "drains that the platform asked for" },
    args: ["delete", "drain", "persons", "-n", GRANTS, "--dry-run=server"],
  },
  {
    title: "nor is a drain approved by the one who carries it out",
    ...{ policy: DRAIN_WORDS, as: "machines", words: "condition Approved of a drain is the operator's" },
    args: status("drain", "wished", { conditions: [condition("Approved")] }),
  },
  {
    title: "a person does not speak for the platform",
    ...{ policy: DRAIN_WORDS, as: "approver", words: "which the agent alone passes on" },
    ...{ args: CREATE, stdin: () => drain("mine", { requested: WISH }) },
  },
  {
    title: "the operator moves no drain on",
    ...{ policy: DRAIN_WORDS, as: "operator", words: "only write conditions of a drain" },
    args: status("drain", "wished", { state: "Drained" }),
  },
  {
    title: "a machine that was removed registers no node again",
    ...{ policy: REMOVED, as: "node", words: "this machine was removed" },
    ...{ args: CREATE, stdin: () => node("m-gone") },
  },
];

const attacked = { cluster, kubeconfigs, policies: () => [...openMachines(), ...installation().policies] };
const run = runAs<Who>(attacked);

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
const account = (name: string): object => ({ kind: "ServiceAccount", name, namespace: SYSTEM });

beforeAll(async () => {
  requestPem = execFileSync(
    "openssl",
    [
      "req",
      "-new",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      "/dev/null",
      "-subj",
      "/O=system:nodes/CN=system:node:m-1",
    ],
    { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
  );
  const { crds, rbac, policies } = installation();
  await cluster().apply([...crds]);
  await cluster().apply([...rbac, ...policies, ...openMachines(DEFAULT_NAMES, { allowForce: true })]);
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  const unnamed = (of: string) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: of },
  });
  await cluster().apply([namespace, unnamed("shop"), unnamed("kube-system")]);
  await cluster().apply([
    ...[pool, join(KEY, "m-1"), join("b".repeat(64), "m-gone", { labels: { [REMOVED_LABEL]: "true" } })],
    ...[node("m-1"), node("m-cordoned", { unschedulable: true }, { annotations: { [CORDONED_BY_ANNOTATION]: UID } })],
    ...[join("d".repeat(64), "m-4"), join("e".repeat(64), "m-5")],
    ...[pod("shop"), pod("kube-system"), csr("of-a-person"), drain("persons")],
    // What policies must hold is tried by accounts that have every right.
    bindAdmin("careless-operator", account("sallyport-operator")),
    bindAdmin("careless-agent", account("sallyport-agent")),
    bindAdmin("careless-machines", account("sallyport-machines")),
    bindAdmin("careless-join", account("sallyport-join")),
    bindAdmin("living-node", { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:node:m-1" }),
    bindAdmin("careless-node", { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:node:m-gone" }),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "approvers", namespace: GRANTS },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: MACHINE_APPROVER },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: APPROVER }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "patches", namespace: GRANTS },
      rules: [{ apiGroups: ["sallyport.dev"], resources: ["machinejoins"], verbs: ["get", "patch"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "onlookers", namespace: GRANTS },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "patches" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: ONLOOKER }],
    },
  ] as Record<string, unknown>[]);
  const accounts = ["join", "machines", "agent", "operator"] as const;
  for (const name of accounts)
    kubeconfigs[name] = await cluster().kubeconfigForServiceAccount(SYSTEM, `sallyport-${name}`);
  kubeconfigs.approver = cluster().kubeconfigFor({ user: APPROVER });
  kubeconfigs.onlooker = cluster().kubeconfigFor({ user: ONLOOKER });
  kubeconfigs.node = cluster().kubeconfigFor({ user: "system:node:m-gone" });
  const made = await run({
    as: "agent",
    args: ["create", "-f", "-"],
    stdin: () => drain("wished", { requested: WISH }),
  });
  expect(made.stderr).toBe("");
  const refused = [
    ["workers-dddddddddddd", { spec: { deniedReason: "not ours" } }],
    ["workers-dddddddddddd", { status: { state: "Denied" } }, "--subresource=status"],
    ["workers-eeeeeeeeeeee", { status: { state: "Denied" } }, "--subresource=status"],
  ] as const;
  for (const [name, body, ...more] of refused) {
    const line = ["patch", "mjoin", name, "-n", GRANTS, "--type=merge", "-p", JSON.stringify(body), ...more];
    expect((await cluster().kubectl(line)).stderr).toBe("");
  }
  const serving = csr("to-serve", {
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
  });
  const asked = await cluster().kubectl(["create", "-f", "-"], {
    kubeconfig: cluster().kubeconfigFor({ user: "system:node:m-1", groups: ["system:nodes"] }),
    stdin: JSON.stringify(serving),
  });
  expect(asked.stderr).toBe("");
  await inForce(ATTACKS, run);
});

testRefusals(ATTACKS, attacked);

describe("let through", () => {
  type Case = readonly [title: string, as: Who, args: readonly string[], stdin?: () => object];
  const cases: readonly Case[] = [
    [
      "the controller cordons",
      "machines",
      patch("node", "m-1", {
        spec: { unschedulable: true },
        metadata: { annotations: { [CORDONED_BY_ANNOTATION]: UID } },
      }),
    ],
    [
      "and uncordons",
      "machines",
      patch("node", "m-cordoned", {
        spec: { unschedulable: null },
        metadata: { annotations: { [CORDONED_BY_ANNOTATION]: null } },
      }),
    ],
    ["and deletes a node that it cordoned", "machines", ["delete", "node", "m-cordoned", "--dry-run=server"]],
    ["it asks for a node's certificate", "machines", CREATE, () => csr("sp-0123456789ab")],
    [
      "it labels a removed machine",
      "machines",
      ours("mjoin", JOIN, { metadata: { labels: { [REMOVED_LABEL]: "true" } } }),
    ],
    ["it deletes a join that a rule denied", "machines", deleted("e")],
    ["it reports a join", "machines", status("mjoin", JOIN, { state: "Waiting" })],
    ["it reports a drain", "machines", status("drain", "wished", { state: "Waiting" })],
    ["the join server passes a machine on", "join", CREATE, () => join("c".repeat(64), "m-2")],
    ["and that one wants to leave", "join", CREATE, () => drain("m-1-leave-0", { requested: LEAVE })],
    ["an approver lets a machine in", "approver", ours("mjoin", JOIN, { spec: { approved: true } })],
    ["or refuses it", "approver", ours("mjoin", JOIN, { spec: { deniedReason: "not ours" } })],
    ["or drains a node", "approver", CREATE, () => drain("by-hand")],
    ["the agent passes a wish on", "agent", CREATE, () => drain("m-1-2", { requested: WISH })],
    ["and cancels it", "agent", ["delete", "drain", "wished", "-n", GRANTS, "--dry-run=server"]],
    ["the operator approves it", "operator", status("drain", "wished", { conditions: [condition("Approved")] })],
  ];
  test.each(cases.map((each) => [each[0], each] as const))("%s", async (_title, [, as, args, stdin]) => {
    const { code, stderr } = await run({ as, args, stdin });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });

  test("the API server writes the name of who lets a machine in", async () => {
    const line = ours("mjoin", JOIN, { spec: { approved: true } }, "-o", "jsonpath={.spec.approvedBy}");
    expect((await run({ as: "approver", args: line })).stdout).toBe(APPROVER);
  });
});
