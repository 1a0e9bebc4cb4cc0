import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES, grantAccount, objectName } from "../../../src/crds/group.ts";
import { GRANTS } from "../../world/people.ts";
import type { Attack, Passage } from "../attacks.ts";
import { DEPLOYMENT_ID } from "../operator/operator-world.ts";
import { account, binding } from "./release-writes.ts";
import { create } from "./writes.ts";

// Policies whose full proofs are no tables: cluster-operations, apply-set and those of the lenders.

type Who = "grant" | "operator" | "admin";
const UID = "2badcafe-0000-4000-8000-000000000003";
const { systemNamespace, operatorAccount } = DEFAULT_NAMES;

const patch = (what: readonly string[], body: object): readonly string[] => [
  ...["patch", ...what, "--type=merge", "--dry-run=server", "-p", JSON.stringify(body)],
];
const NODE = ["node", "granted"];

export const GRANT_ATTACKS: readonly Attack<Who>[] = [
  {
    title: "the account of a grant labels no node",
    ...{ policy: "sallyport-node-scheduling", as: "grant", words: "only cordon or uncordon a node" },
    args: patch(NODE, { metadata: { labels: { disk: "none" } } }),
  },
  {
    title: "a stolen operator accepts no deployment",
    ...{ policy: "sallyport-deployment-acceptance", as: "operator", words: "the customer's word" },
    args: patch(["mdep", objectName(DEPLOYMENT_ID), "-n", GRANTS], { spec: { acceptedNamespaces: ["kube-system"] } }),
  },
];

export const GRANT_PASSAGES: readonly Passage<Who>[] = [
  {
    title: "the account of a grant cordons a node",
    ...{ as: "grant", passes: ["sallyport-node-scheduling"] },
    args: patch(NODE, { spec: { unschedulable: true } }),
  },
  {
    title: "a person lends the role of an operation to the account of a grant",
    ...{ as: "admin", passes: ["sallyport-lending"] },
    ...create(() => binding({ role: "sallyport-op-kubernetes-scale", account: grantAccount(UID), labels: {} })),
  },
  {
    title: "the operator takes its own lease",
    ...{ as: "operator", passes: ["sallyport-own-leases"] },
    ...create(() => ({
      ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
      metadata: { name: operatorAccount, namespace: systemNamespace },
    })),
  },
];

/** The account of a grant has every right, and so has the operator. Returns the credentials of everybody. */
export async function setGrantScene(cluster: Cluster): Promise<Record<Who, string>> {
  const name = grantAccount(UID);
  const group = "rbac.authorization.k8s.io";
  const subjects = [
    { kind: "ServiceAccount", name, namespace: GRANTS },
    { kind: "ServiceAccount", name: operatorAccount, namespace: systemNamespace },
  ];
  await cluster.apply([
    { apiVersion: "v1", kind: "Node", metadata: { name: "granted" } },
    { ...account(name) },
    {
      ...{ apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: "careless-grant" }, subjects },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    },
  ]);
  return {
    grant: await cluster.kubeconfigForServiceAccount(GRANTS, name),
    operator: await cluster.kubeconfigForServiceAccount(systemNamespace, operatorAccount),
    admin: cluster.adminKubeconfig,
  };
}
