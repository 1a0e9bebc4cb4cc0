import { GROUP, type InstallationNames, JOIN_ACCOUNT, MACHINES_ACCOUNT } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import {
  CLIENT_SIGNER,
  MACHINE_MUTATING_POLICIES,
  MACHINE_VALIDATING_POLICIES,
  SERVING_SIGNER,
} from "../admission/machine-admission.ts";
import { type ExplainedRule, leaderElection, rule } from "./shipped-role.ts";

const APIS = "rbac.authorization.k8s.io";
const LOOKS = ["get", "list", "watch"];
/** The Secret with the join server's key: rendered empty, filled by the join server, so that its pin outlives restarts. */
export const JOIN_TLS_SECRET = "sallyport-join-tls";
/** ConfigMaps in the namespace of grants: what the pods of each node ask for, written by the machine controller. */
export const MACHINE_LOADS = "sallyport-machine-loads";
/** For people; bound by the customer. */
export const MACHINE_APPROVER = "sallyport-machine-approver";

/** What else the customer allows of machines. */
export interface MachineOptions {
  /** A drain may delete, at its deadline, what a budget protects, where its pool allows it. */
  readonly allowForce?: boolean;
  /** Certificates with which kubelets serve are signed. */
  readonly signServing?: boolean;
}

/** A role that an installation has only with machines. */
export interface MachineRole {
  readonly name: string;
  readonly holder: "agent" | "operator" | "join" | "machines" | "person";
  readonly reach: "grants" | "system" | "node-leases" | "cluster";
  readonly about: string;
  readonly rules: readonly ExplainedRule[];
}

/** Every role of machines. None reaches Secrets but the join server's own, and none runs or changes a workload. */
export function machineRoles(names: InstallationNames, options: MachineOptions = {}): readonly MachineRole[] {
  const { joinAccount = JOIN_ACCOUNT, machinesAccount = MACHINES_ACCOUNT } = names;
  return [
    ...passingRoles(names),
    ...joinRoles(joinAccount),
    ...controllerRoles(machinesAccount),
    nodeRole(machinesAccount, options),
    {
      name: MACHINE_APPROVER,
      holder: "person",
      reach: "grants",
      about: "Lets machines in, refuses them, and drains nodes.",
      rules: [
        rule(GROUP, ["machinejoins"], [...LOOKS, "patch"], "Writes approved or deniedReason."),
        rule(GROUP, ["machinepools"], [...LOOKS, "join"], "join: the second door of the admission policy."),
        rule(GROUP, ["machinedrains"], [...LOOKS, "create", "patch", "delete"], "Empties a node, and cancels it."),
      ],
    },
  ];
}

function passingRoles({ agentAccount, operatorAccount }: InstallationNames): readonly MachineRole[] {
  return [
    {
      name: `${agentAccount}-machines`,
      holder: "agent",
      reach: "grants",
      about: "Passes on what the platform wants of machines, and reports them.",
      rules: [
        rule(GROUP, ["machinepools", "machinejoins"], LOOKS, "Reports who has joined, and who waits."),
        rule(
          GROUP,
          ["machinedrains"],
          [...LOOKS, "create", "patch", "delete"],
          "Asks for drains. An admission policy narrows it to those of the platform (spec.requested).",
        ),
        rule("", ["configmaps"], LOOKS, `Reads ${MACHINE_LOADS}-*, the sums of what pods ask for; no pod itself.`),
      ],
    },
    {
      name: `${agentAccount}-machines-nodes`,
      holder: "agent",
      reach: "cluster",
      about: "Reports nodes.",
      rules: [rule("", ["nodes"], LOOKS, "Sizes, versions, addresses and conditions of nodes.")],
    },
    {
      name: `${agentAccount}-machines-leases`,
      holder: "agent",
      reach: "node-leases",
      about: "Reports when each node was last heard of.",
      rules: [rule("coordination.k8s.io", ["leases"], LOOKS, "A kubelet renews its lease each ten seconds.")],
    },
    {
      name: `${operatorAccount}-machines`,
      holder: "operator",
      reach: "grants",
      about: "Judges drains that the platform asks for by policy and grant.",
      rules: [
        rule(GROUP, ["machinedrains"], LOOKS, "Sees which drains wait for the customer's word."),
        rule(
          GROUP,
          ["machinedrains/status"],
          ["get", "patch"],
          "Writes the condition Approved. An admission policy narrows it to conditions.",
        ),
      ],
    },
  ];
}

function joinRoles(joinAccount: string): readonly MachineRole[] {
  return [
    {
      name: joinAccount,
      holder: "join",
      reach: "grants",
      about: "Lets machines ask to join.",
      rules: [
        rule(
          GROUP,
          ["machinejoins"],
          ["create", ...LOOKS],
          "Passes on which machine asks, and hands out what became of it. It can approve none.",
        ),
        rule(
          GROUP,
          ["machinedrains"],
          ["create", ...LOOKS],
          "Passes on that a machine wants to leave. An admission policy narrows it to that (spec.requested.leaving).",
        ),
        rule(GROUP, ["machinepools"], LOOKS, "Sees whether machines may join at all."),
        rule(
          GROUP,
          ["machinepools/status"],
          ["get", "patch"],
          "Says how it is reached. An admission policy narrows it to status.joinServer.",
        ),
      ],
    },
    {
      name: `${joinAccount}-tls`,
      holder: "join",
      reach: "system",
      about: "Keeps its own key.",
      rules: [
        {
          ...rule("", ["secrets"], ["get", "update"], "Fills this one Secret with its key and certificate."),
          resourceNames: [JOIN_TLS_SECRET],
        },
      ],
    },
  ];
}

function controllerRoles(machinesAccount: string): readonly MachineRole[] {
  return [
    {
      name: machinesAccount,
      holder: "machines",
      reach: "grants",
      about: "Judges joins and carries out drains.",
      rules: [
        rule(GROUP, ["machinepools", "machinedrains"], LOOKS, "Sees who may join and what is to be emptied."),
        rule(
          GROUP,
          ["machinejoins"],
          [...LOOKS, "patch", "delete"],
          "Labels the join of a removed machine, and deletes those that ended without a machine. An admission policy narrows both.",
        ),
        rule(
          GROUP,
          ["machinepools/status", "machinejoins/status", "machinedrains/status"],
          ["get", "patch"],
          "Says what became of them.",
        ),
        rule("", ["configmaps"], ["create", "get", "list", "patch", "delete"], `Writes ${MACHINE_LOADS}-*.`),
        rule("", ["events"], ["create", "patch"], "Says on each object what was done."),
        rule("events.k8s.io", ["events"], ["create", "patch"], "Says on each object what was done."),
      ],
    },
    {
      name: `${machinesAccount}-election`,
      holder: "machines",
      reach: "system",
      about: "One of its replicas acts.",
      rules: leaderElection(machinesAccount),
    },
    {
      name: `${machinesAccount}-leases`,
      holder: "machines",
      reach: "node-leases",
      about: "Sees whether a node lives.",
      rules: [
        rule("coordination.k8s.io", ["leases"], LOOKS, "A machine has joined when its kubelet renews its lease."),
      ],
    },
  ];
}

/** What no namespace bounds: nodes, certificates, and the pods of all namespaces, which are on nodes. */
function nodeRole(machinesAccount: string, { allowForce = false, signServing = false }: MachineOptions): MachineRole {
  const policies = (kind: "validating" | "mutating", resourceNames: readonly string[]): ExplainedRule => ({
    ...rule(
      "admissionregistration.k8s.io",
      [`${kind}admissionpolicies`, `${kind}admissionpolicybindings`],
      ["get"],
      "Nothing is signed or drained while a policy that narrows it is missing.",
    ),
    resourceNames,
  });
  return {
    name: `${machinesAccount}-nodes`,
    holder: "machines",
    reach: "cluster",
    about: "Signs first certificates of machines, cordons nodes, evicts pods, removes nodes.",
    rules: [
      rule(
        "",
        ["nodes"],
        [...LOOKS, "patch", "delete"],
        "Cordons; deletes machines that it has cordoned. A policy narrows both.",
      ),
      rule("", ["pods"], LOOKS, "Finds the pods of a node."),
      rule("", ["pods/eviction"], ["create"], "Evicts; a budget may refuse."),
      ...(allowForce ? [rule("", ["pods"], ["delete"], "At a drain's deadline, where force is allowed.")] : []),
      rule(
        "policy",
        ["poddisruptionbudgets"],
        LOOKS,
        "Goes on at once when a budget allows it, and names it until then.",
      ),
      rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], LOOKS, "Names the workload of a pod."),
      rule("batch", ["jobs"], LOOKS, "The same for jobs."),
      rule(
        "certificates.k8s.io",
        ["certificatesigningrequests"],
        ["create", ...LOOKS],
        "Asks for the certificate of a machine that was let in.",
      ),
      rule("certificates.k8s.io", ["certificatesigningrequests/approval"], ["patch"], "Approves these, and renewals."),
      {
        ...rule("certificates.k8s.io", ["signers"], ["approve"], "For these signers only."),
        resourceNames: [CLIENT_SIGNER, ...(signServing ? [SERVING_SIGNER] : [])],
      },
      policies("validating", MACHINE_VALIDATING_POLICIES),
      policies("mutating", MACHINE_MUTATING_POLICIES),
    ],
  };
}

/** The accounts of both processes, the Secret of the join server's key, and every role with the bindings that are always there. */
export function machineRbac(names: InstallationNames, options: MachineOptions = {}): readonly Manifest[] {
  const { systemNamespace, joinAccount = JOIN_ACCOUNT, machinesAccount = MACHINES_ACCOUNT } = names;
  const account = (name: string): Manifest => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace: systemNamespace },
  });
  return [
    account(joinAccount),
    account(machinesAccount),
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: JOIN_TLS_SECRET, namespace: systemNamespace },
      type: "Opaque",
    },
    ...machineRoles(names, options).flatMap((role) => machineRoleManifests(role, names)),
  ];
}

/** One role with its binding; a person's role is bound by the customer. */
function machineRoleManifests(role: MachineRole, names: InstallationNames): readonly Manifest[] {
  const rules = role.rules.map(({ why: _why, ...each }) => each);
  const namespaces = {
    grants: names.grantsNamespace,
    system: names.systemNamespace,
    "node-leases": "kube-node-lease",
    cluster: undefined,
  };
  const namespace = namespaces[role.reach];
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const metadata = { name: role.name, ...(namespace !== undefined && { namespace }) };
  const API = `${APIS}/v1`;
  const manifest = { apiVersion: API, kind, metadata, rules };
  if (role.holder === "person") return [manifest];
  const { agentAccount, operatorAccount, joinAccount = JOIN_ACCOUNT, machinesAccount = MACHINES_ACCOUNT } = names;
  const holders = { agent: agentAccount, operator: operatorAccount, join: joinAccount, machines: machinesAccount };
  return [
    manifest,
    {
      apiVersion: API,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: APIS, kind, name: role.name },
      subjects: [{ kind: "ServiceAccount", name: holders[role.holder], namespace: names.systemNamespace }],
    },
  ];
}
