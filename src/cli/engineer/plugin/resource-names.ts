import { isRecord } from "../../../base/is-record.ts";
import { type Issue, MAX_ISSUES } from "../../../plugins/issue.ts";

/**
 * The kinds of Kubernetes' own groups that lie in a namespace. RBAC takes any word, so that a rule on `pod` gives nothing, and shows so
 * when the operation runs. Of other groups nothing is known here. A test holds the table to a real API server.
 */
export const NAMESPACED_KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "",
    [
      ...[
        "bindings",
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "persistentvolumeclaims",
        "pods",
        "podtemplates",
      ],
      ...["replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services"],
    ],
  ],
  ["apps", ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]],
  ["autoscaling", ["horizontalpodautoscalers"]],
  ["batch", ["cronjobs", "jobs"]],
  ["discovery.k8s.io", ["endpointslices"]],
  ["events.k8s.io", ["events"]],
  ["networking.k8s.io", ["ingresses", "networkpolicies"]],
  ["policy", ["poddisruptionbudgets"]],
]);

/** Refused by the table of rules, in words of its own. */
const REFUSED_ELSEWHERE = ["nodes", "namespaces", "persistentvolumes"];

/** Resources of rules that none of the rule's groups has, in plugin.yaml as it was parsed, of any shape. */
export function resourceIssues(value: unknown): readonly Issue[] {
  const operations = listOf(isRecord(value) ? value.operations : undefined);
  const found = operations.flatMap((operation, at) =>
    listOf(isRecord(operation) ? operation.rules : undefined).flatMap((rule, index) =>
      isRecord(rule) ? issuesOfRule(rule, `/operations/${at}/rules/${index}`) : [],
    ),
  );
  return found.slice(0, MAX_ISSUES);
}

function issuesOfRule({ apiGroups, resources }: Readonly<Record<string, unknown>>, path: string): readonly Issue[] {
  const groups = textsOf(apiGroups).map((group) => NAMESPACED_KINDS.get(group));
  if (groups.length === 0 || groups.includes(undefined)) return [];
  const known = groups.flatMap((kinds) => kinds ?? []);
  const named = textsOf(apiGroups).map((group) => (group === "" ? "the core group" : `the group ${group}`));
  return textsOf(resources).flatMap((resource, index) => {
    const [kind = "", ...part] = resource.split("/");
    if (known.includes(kind) || REFUSED_ELSEWHERE.includes(kind)) return [];
    const near = known.filter((each) => kind.length > 1 && each.startsWith(kind));
    const advice = near.length > 0 ? `write ${near.map((each) => [each, ...part].join("/")).join(" or ")}` : undefined;
    const message = `is no kind of ${named.join(" or ")} that lies in a namespace: ${advice ?? `there are ${known.join(", ")}`}`;
    return [{ path: `${path}/resources/${index}`, message: `${resource.slice(0, 80)} ${message}` }];
  });
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((each) => typeof each === "string");
}
