import { CORDONED_BY_ANNOTATION, MACHINE_LABEL, REMOVED_LABEL } from "../../../src/crds/group.ts";
import { GRANTS } from "../../world/people.ts";
import type { Attack } from "../attacks.ts";
import {
  condition,
  csr,
  deleted,
  drain,
  evicts,
  GONE,
  JOIN,
  join,
  LEAVE,
  node,
  ours,
  status,
  UID,
  type Who,
  WISH,
} from "./machine-writes.ts";
import { CREATE, patch } from "./writes.ts";

// What stolen processes of machines, and people without the right, may not write.

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

export const MACHINE_ATTACKS: readonly Attack<Who>[] = [
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
    title: "nor with the taint of a drain, which would end its pods at once",
    ...{ policy: NODES, as: "machines", words: "only change spec.unschedulable" },
    args: patch("node", "m-1", { spec: { taints: [{ key: "sallyport.dev/drain", effect: "NoExecute" }] } }),
  },
  {
    title: "nor with that of a cordon",
    ...{ policy: NODES, as: "machines", words: "only change spec.unschedulable" },
    args: patch("node", "m-1", {
      spec: { unschedulable: true, taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoExecute" }] },
    }),
  },
  {
    title: "nor gives one addresses for pods",
    ...{ policy: NODES, as: "machines", words: "only change spec.unschedulable" },
    args: patch("node", "m-1", { spec: { podCIDR: "10.9.0.0/24", podCIDRs: ["10.9.0.0/24"] } }),
  },
  {
    title: "nor keeps one for ever",
    ...{ policy: NODES, as: "machines", words: "only change the annotation" },
    args: patch("node", "m-1", { metadata: { finalizers: ["example.com/evil"] } }),
  },
  {
    title: "nor writes into its annotation what is no drain",
    ...{ policy: NODES, as: "machines", words: "is the uid of a drain" },
    args: patch("node", "m-1", {
      metadata: { annotations: { [CORDONED_BY_ANNOTATION]: `${UID}/found; ${"a".repeat(9_000)}` } },
    }),
  },
  {
    title: "nor labels one as a machine",
    ...{ policy: NODES, as: "machines", words: "only change the annotation" },
    args: patch("node", "foreign", { metadata: { labels: { [MACHINE_LABEL]: "true" } } }),
  },
  {
    title: "nor deletes one that did not join through Sallyport, though it has put its mark there",
    ...{ policy: NODES, as: "machines", words: "that joined through Sallyport" },
    args: ["delete", "node", "foreign", "--dry-run=server"],
  },
  {
    title: "nor a control plane",
    ...{ policy: NODES, as: "machines", words: "no control plane" },
    args: ["delete", "node", "control-plane-1", "--dry-run=server"],
  },
  {
    title: "nor all of them at once",
    ...{ policy: NODES, as: "machines", words: "only delete a node that" },
    args: ["delete", "--raw", "/api/v1/nodes?dryRun=All"],
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
    args: ["create", "--raw", "/api/v1/namespaces/shop/pods/running/eviction?dryRun=All", "-f", "-"],
    stdin: () => evicts(),
  },
  {
    title: "nor without the time to end that it asks for",
    ...{ policy: EVICT, as: "machines", words: "the time to end that it asks for" },
    args: ["create", "--raw", "/api/v1/namespaces/shop/pods/running/eviction?dryRun=All", "-f", "-"],
    stdin: () => evicts({ gracePeriodSeconds: 1 }),
  },
  {
    title: "and deletes none at once, where it may delete",
    ...{ policy: EVICT, as: "machines", words: "its own time to end" },
    args: ["delete", "--raw", "/api/v1/namespaces/shop/pods/running?dryRun=All&gracePeriodSeconds=0"],
  },
  {
    title: "and deletes none of the cluster's own",
    ...{ policy: EVICT, as: "machines", words: "never in kube-system" },
    args: ["delete", "pod", "running", "-n", "kube-system", "--dry-run=server"],
  },
  {
    title: "nor all of a namespace",
    ...{ policy: EVICT, as: "machines", words: "deletes one pod by its uid" },
    args: ["delete", "pod", "running", "-n", "shop", "--dry-run=server"],
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
