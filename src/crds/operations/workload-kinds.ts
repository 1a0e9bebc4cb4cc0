/** Workloads that operations know, as the param `kind` writes them. */
export const WORKLOAD_KINDS = ["deployment", "statefulset", "daemonset"] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];
/** Those with replicas to set. */
export const SCALABLE_KINDS = ["deployment", "statefulset"] as const;
