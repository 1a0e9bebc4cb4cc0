/** Workloads that operations accept, as the param `kind` names them. */
export const WORKLOAD_KINDS = ["deployment", "statefulset", "daemonset"] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];
/** The same in rules of RBAC and of admission. */
export const WORKLOAD_RESOURCES = ["deployments", "statefulsets", "daemonsets"] as const;
/** Those that have a replica count. */
export const SCALABLE_KINDS = ["deployment", "statefulset"] as const;
