import type { DebugMode } from "./debug.ts";

/** What one request of an engineer's may be, in the words of the API server's authorizer. */
type DebugVerb = "get" | "list" | "watch" | "create";

interface DebugRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly DebugVerb[];
  readonly why: string;
}

function rule(group: string, resources: readonly string[], verbs: readonly DebugVerb[], why: string): DebugRule {
  return { apiGroups: [group], resources, verbs, why };
}

const LOOKS = ["get", "list", "watch"] as const;
const PODS = rule("", ["pods"], LOOKS, "Finds the pods.");
const POD_LOGS = rule("", ["pods/log"], ["get"], "Reads and follows logs.");
/** kubectl resolves `deploy/web` to a pod with a get of each kind on the way. */
const WORKLOADS: readonly DebugRule[] = [
  rule(
    "apps",
    ["deployments", "replicasets", "statefulsets", "daemonsets"],
    ["get"],
    "`kubectl logs deploy/web` looks at the workload to find its pods.",
  ),
  rule("batch", ["jobs", "cronjobs"], ["get"], "The same for jobs."),
];
const CONNECTS = ["get", "create"] as const;
const WHY_BOTH = "A connection over WebSocket is a get that also asks for create; one over SPDY is a create.";

/**
 * What each mode of a debug session lets an engineer do in its namespace. Two walls are made of it: the role that the
 * session's account is lent, and before that the tunnel's own table of requests, which also holds in a cluster that
 * gives every account more rights than the role.
 */
export const DEBUG_RULES: Readonly<Record<DebugMode, readonly DebugRule[]>> = {
  logs: [PODS, POD_LOGS, ...WORKLOADS],
  read: [
    PODS,
    POD_LOGS,
    rule(
      "",
      ["services", "endpoints", "events", "persistentvolumeclaims", "replicationcontrollers"],
      LOOKS,
      "Reads what is around the pods. No Secrets, ConfigMaps or accounts.",
    ),
    rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], LOOKS, "Reads workloads."),
    rule("batch", ["jobs", "cronjobs"], LOOKS, "Reads jobs."),
    rule("autoscaling", ["horizontalpodautoscalers"], LOOKS, "Reads what scales them."),
    rule("policy", ["poddisruptionbudgets"], LOOKS, "Reads what holds evictions back."),
    rule("networking.k8s.io", ["ingresses", "networkpolicies"], LOOKS, "Reads how traffic comes in."),
    rule("discovery.k8s.io", ["endpointslices"], LOOKS, "Reads where services lead."),
    rule("events.k8s.io", ["events"], LOOKS, "Reads what happened."),
    rule("metrics.k8s.io", ["pods"], ["get", "list"], "`kubectl top pods`."),
  ],
  exec: [PODS, POD_LOGS, ...WORKLOADS, rule("", ["pods/exec"], CONNECTS, WHY_BOTH)],
  "port-forward": [
    PODS,
    rule("", ["services"], ["get", "list"], "`kubectl port-forward service/web` looks at the service."),
    ...WORKLOADS,
    rule("", ["pods/portforward"], CONNECTS, WHY_BOTH),
  ],
};
