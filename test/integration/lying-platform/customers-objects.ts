import { APPROVER, GRANTS, SHOP } from "../../world/people.ts";

export const JOBS = "jobs";

export function getPods(deploymentId: string, commandId: string) {
  const what = { plugin: "kubernetes", operation: "get-pods", tier: "read-only", params: { namespace: SHOP } };
  return { commandId, deploymentId, ...what, attempt: 1 };
}

export function object(kind: string, name: string) {
  return { apiVersion: "sallyport.dev/v1alpha1", kind, metadata: { name, namespace: GRANTS } };
}

export function policyAdmins(
  subject: { readonly kind: string; readonly name: string; readonly namespace?: string } = {
    kind: "User",
    name: APPROVER,
  },
) {
  const apiGroup = subject.kind === "User" ? { apiGroup: "rbac.authorization.k8s.io" } : {};
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: `policy-admins-${subject.kind}`, namespace: GRANTS },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "sallyport-policy-admin" },
    subjects: [{ ...apiGroup, ...subject }],
  };
}

export function workload(namespace: string, name: string) {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "registry.example/app:1" }] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace }, spec };
}
