import { APPROVER, GRANTS, SHOP } from "../../world/people.ts";

export const JOBS = "jobs";

export function getPods(deploymentId: string, commandId: string) {
  const what = { plugin: "kubernetes", operation: "get-pods", tier: "read-only", params: { namespace: SHOP } };
  return { commandId, deploymentId, ...what, attempt: 1 };
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
