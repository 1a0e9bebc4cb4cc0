import type { InstallationNames } from "../../src/crds/group.ts";
import type { Manifest } from "../../src/crds/manifest.ts";
import { defaultPolicy } from "../../src/crds/manifests/default-policy.ts";
import { openNamespace, openNamespaceToReleases } from "../../src/crds/manifests/installation.ts";
import { MARK } from "./named-cluster.ts";
import type { Target } from "./target.ts";

/** The workload of the story. */
export const WORKLOAD = { name: "web", replicas: 3, scaledTo: 5 } as const;

/** What the customer has: a workload, and the rules about who may do what with it. */
export function customersManifests(
  { workloadNamespace: namespace, approver }: Target,
  names: InstallationNames,
): readonly Manifest[] {
  const labels = { app: WORKLOAD.name };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { ...MARK } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: WORKLOAD.name, namespace },
      spec: {
        replicas: WORKLOAD.replicas,
        selector: { matchLabels: labels },
        // Simulated nodes never fetch an image.
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx:stable-alpine" }] } },
      },
    },
    // Opens this namespace, and no other: the operator may act in it, and the agent may read its workloads.
    ...openNamespace(namespace, names),
    ...openNamespaceToReleases(namespace, names),
    // So that the approver can see the workload that a request is about.
    roleBinding("onlookers", namespace, "view", {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "User",
      name: approver.user,
    }),
    roleBinding("approvers", names.grantsNamespace, "sallyport-approver", {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "User",
      name: approver.user,
    }),
    // Here the approver also accepts deployments; in a company these are often two people.
    roleBinding("policy-admins", names.grantsNamespace, "sallyport-policy-admin", {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "User",
      name: approver.user,
    }),
    housePolicy(names),
  ];
}

/** The shipped policy with this customer's changes: one operation runs by itself, windows are short. */
function housePolicy(names: InstallationNames): Manifest {
  const shipped = defaultPolicy(names);
  const rules = [{ pattern: "kubernetes/get-pods", decision: "auto" }];
  return { ...shipped, spec: { ...(shipped.spec as object), rules, maxWindowMinutes: 120 } };
}

function roleBinding(name: string, namespace: string, clusterRole: string, subject: object): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [subject],
  };
}
