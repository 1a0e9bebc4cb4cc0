import { resources } from "../../kube/objects/resource.ts";

/** The kinds of workloads that the agent watches and reports, each with its name in the contract. */
export const WORKLOADS = {
  Deployment: { resource: resources.deployments, reportedAs: "deployment" },
  StatefulSet: { resource: resources.statefulSets, reportedAs: "statefulSet" },
  DaemonSet: { resource: resources.daemonSets, reportedAs: "daemonSet" },
} as const;

export type WorkloadKind = keyof typeof WORKLOADS;
export const WORKLOAD_KINDS = Object.keys(WORKLOADS) as readonly WorkloadKind[];
