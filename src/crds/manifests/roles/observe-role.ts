import { type InstallationNames, NAME_SALT_SECRET } from "../../group.ts";
import { rule, type ShippedRole } from "./shipped-role.ts";

export const OBSERVE_ROLE = "sallyport-agent-observe";

const HEALTH = "Health and size of each workload are what the vendor sees of the cluster.";

/**
 * What the agent reads of an opened namespace, by the chart's value `observe.kinds.<name>`, which removes the rule. The
 * name in lower case is the resource.
 */
export const OBSERVED_RESOURCES = [
  { value: "deployments", group: "apps", why: HEALTH },
  { value: "statefulSets", group: "apps", why: HEALTH },
  { value: "daemonSets", group: "apps", why: HEALTH },
  {
    value: "replicaSets",
    group: "apps",
    why: "Tells which pods are of a Deployment's current rollout; one without a Deployment is a workload of its own.",
  },
  { value: "pods", group: "", why: "Says why a workload is unhealthy: waiting reasons and restarts." },
  { value: "jobs", group: "batch", why: "Tells batch work that failed." },
  { value: "cronJobs", group: "batch", why: "Tells scheduled work whose last runs failed." },
  { value: "podDisruptionBudgets", group: "policy", why: "Tells whether a drain of a node will have to wait." },
  {
    value: "persistentVolumeClaims",
    group: "",
    why: "Says why a pod cannot start: its claim is not bound, or its volume is lost. It reaches no content of a volume.",
  },
] as const;

/** What is asked for when needed and not watched, by the chart's value `observe.<name>`, which removes the rule. */
export const READ_ON_DEMAND = [
  {
    value: "events",
    group: "events.k8s.io",
    resource: "events",
    why: "Says why a workload is sick: the last events of an unhealthy one and of its pods, asked for by uid.",
  },
  {
    value: "metrics",
    group: "metrics.k8s.io",
    resource: "pods",
    why: "Tells the cpu and memory that pods use, when the cluster measures them.",
  },
] as const;

/** A rule each, so that each can be removed alone. */
export function observeRole(): ShippedRole {
  return {
    name: OBSERVE_ROLE,
    holder: "agent",
    reach: "opened",
    about: "Reads the workloads of an opened namespace, to report their health.",
    rules: [
      ...OBSERVED_RESOURCES.map(({ value, group, why }) =>
        rule(group, [value.toLowerCase()], ["get", "list", "watch"], why),
      ),
      ...READ_ON_DEMAND.map(({ group, resource, why }) => rule(group, [resource], ["list"], why)),
    ],
  };
}

/** Nodes have no namespace: a role of its own, by the chart's value `observe.nodes`. */
export function nodesRole(): ShippedRole {
  return {
    name: "sallyport-agent-nodes",
    holder: "agent",
    reach: "nodes",
    about: "Reads the nodes, to report how the cluster is. Only with `observe.nodes`.",
    rules: [
      rule(
        "",
        ["nodes"],
        ["get", "list", "watch"],
        "Tells how many nodes are ready, which have trouble, and the room on them. It reaches no pod of another namespace.",
      ),
    ],
  };
}

/** By the chart's value `observe.redactNames`. The Secret is the chart's, so the agent cannot make one. */
export function nameSaltRole({ agentAccount }: InstallationNames): ShippedRole {
  const why =
    "Reads the salt with which names of pods, claims, nodes and images are hashed, and fills it once. It reaches no other Secret.";
  return {
    name: `${agentAccount}-name-salt`,
    holder: "agent",
    reach: "name-salt",
    about: "Keeps the salt of names. Only with `observe.redactNames`.",
    rules: [{ ...rule("", ["secrets"], ["get", "update"], why), resourceNames: [NAME_SALT_SECRET] }],
  };
}
