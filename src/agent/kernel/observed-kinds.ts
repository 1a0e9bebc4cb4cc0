import { resources } from "../../kube/objects/resource.ts";

/**
 * The kinds that the agent watches and reports, each with its name in the contract and its type of resource (§11.5). A
 * kind that `beats` has heartbeats; the others are told in the inventory alone.
 */
export const OBSERVED = {
  Deployment: { resource: resources.deployments, reportedAs: "deployment", type: "container", beats: true },
  StatefulSet: { resource: resources.statefulSets, reportedAs: "statefulSet", type: "container", beats: true },
  DaemonSet: { resource: resources.daemonSets, reportedAs: "daemonSet", type: "daemon", beats: true },
  ReplicaSet: { resource: resources.replicaSets, reportedAs: "replicaSet", type: "container", beats: true },
  Pod: { resource: resources.pods, reportedAs: "pod", type: "container", beats: true },
  Job: { resource: resources.jobs, reportedAs: "job", type: "worker", beats: true },
  CronJob: { resource: resources.cronJobs, reportedAs: "cronJob", type: "worker", beats: true },
  PersistentVolumeClaim: {
    resource: resources.persistentVolumeClaims,
    reportedAs: "persistentVolumeClaim",
    type: "persistent-volume-claim",
    beats: false,
  },
  PodDisruptionBudget: {
    resource: resources.podDisruptionBudgets,
    reportedAs: "podDisruptionBudget",
    type: "pod-disruption-budget",
    beats: false,
  },
} as const;

export type ObservedKind = keyof typeof OBSERVED;
export const OBSERVED_KINDS = Object.keys(OBSERVED) as readonly ObservedKind[];

/** What is not watched but asked for when needed. */
export const ON_DEMAND = ["events", "metrics"] as const;
export type OnDemand = (typeof ON_DEMAND)[number];

/** Whether each opened namespace has lists of its own, or all share one a kind. */
export const OBSERVED_SCOPES = ["namespaces", "cluster"] as const;
export type ObservedScope = (typeof OBSERVED_SCOPES)[number];
