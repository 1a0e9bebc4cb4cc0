import type { DebugMode } from "../../contract/debug-sessions/debug-sessions.ts";
import type { Subject } from "./subject.ts";

interface Row {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verbs: readonly Subject["verb"][];
}

const READ = ["get", "list", "watch"] as const;

function rows(group: string, resources: readonly string[], verbs: readonly Subject["verb"][]): readonly Row[] {
  return resources.map((resource) => ({ group, resource, verbs }));
}

/** What `kubectl logs deploy/x`, `exec deploy/x` and `port-forward deploy/x` look their pods up by. */
const OWNERS: readonly Row[] = [
  ...rows("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], ["get"]),
  ...rows("batch", ["jobs", "cronjobs"], ["get"]),
];

const LOGS: readonly Row[] = [
  ...rows("", ["pods"], READ),
  { group: "", resource: "pods", subresource: "log", verbs: ["get"] },
  ...OWNERS,
];

/** No Secrets, ConfigMaps, accounts, roles. */
const INVENTORY: readonly Row[] = [
  ...rows("", ["services", "events", "persistentvolumeclaims"], READ),
  ...rows("events.k8s.io", ["events"], READ),
  ...rows("discovery.k8s.io", ["endpointslices"], READ),
  ...rows("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"], READ),
  ...rows("batch", ["jobs", "cronjobs"], READ),
  ...rows("autoscaling", ["horizontalpodautoscalers"], READ),
  ...rows("policy", ["poddisruptionbudgets"], READ),
  ...rows("networking.k8s.io", ["ingresses", "networkpolicies"], READ),
  ...rows("metrics.k8s.io", ["pods"], READ),
];

function upgrade(subresource: string): Row {
  // Over a WebSocket the API server asks for `get` and `create`, over SPDY for `create`.
  return { group: "", resource: "pods", subresource, verbs: ["get", "create"] };
}

const TABLE: Readonly<Record<DebugMode, readonly Row[]>> = {
  logs: LOGS,
  read: [...LOGS, ...INVENTORY],
  exec: [...LOGS, upgrade("exec")],
  "port-forward": [...LOGS, ...rows("", ["services"], ["get", "list"]), upgrade("portforward")],
};

/** Whether the mode lets `subject` pass, in whichever namespace it is. The account's role is the wall; this is the second. */
export function modeAllows(mode: DebugMode, subject: Subject): boolean {
  return TABLE[mode].some(
    ({ group, resource, subresource, verbs }) =>
      group === subject.group &&
      resource === subject.resource &&
      subresource === subject.subresource &&
      verbs.includes(subject.verb),
  );
}

/** The reviews by which a user asks what they may do. They name no namespace in their path. */
const REVIEWS: Readonly<Record<string, readonly string[]>> = {
  "authorization.k8s.io": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
  "authentication.k8s.io": ["selfsubjectreviews"],
};

export function isSelfReview({ verb, group, resource, subresource, namespace, name }: Subject): boolean {
  if (verb !== "create" || subresource !== undefined || namespace !== undefined || name !== undefined) return false;
  return Object.hasOwn(REVIEWS, group) && REVIEWS[group]?.includes(resource) === true;
}

/** Which kinds of the API there are: told to every user of a cluster. */
export function isDiscovery([root, ...rest]: readonly string[]): boolean {
  if (root === "version") return rest.length === 0;
  if (root === "api") return rest.length <= 1;
  if (root === "apis") return rest.length <= 2;
  return root === "openapi" && rest[0] === "v3";
}
