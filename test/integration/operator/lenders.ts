import { GRANTS, SHOP } from "../../world/people.ts";

type Manifest = Readonly<Record<string, unknown>>;

/** Lets `user` lend in the shop. */
export function lender(user: string): Manifest {
  return bound(`lender-${user}`, SHOP, "sallyport-lender", user);
}

/** Lets `user` write policies, and so lend to what runs by itself. */
export function policyAdmin(user: string): Manifest {
  return bound(`policy-admin-${user}`, GRANTS, "sallyport-policy-admin", user);
}

export function bound(name: string, namespace: string, role: string, user: string): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  };
}
