import Type, { type Static } from "typebox";
import type { Issue } from "./issue.ts";
import { type Scope, type Tier, words } from "./words.ts";

/** What a plugin's client can ask for. There is no verb for what it cannot. */
const VERBS = ["get", "list", "create", "patch", "delete"] as const;
const CHANGING: readonly string[] = ["create", "patch", "delete"];

const GROUP = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$";
const RESOURCE = "^[a-z]([-a-z0-9]*[a-z0-9])?(/[a-z]+)?$";

export const Rule = Type.Object(
  {
    apiGroups: Type.Array(Type.String({ pattern: GROUP, maxLength: 253 }), { minItems: 1, maxItems: 8 }),
    resources: Type.Array(Type.String({ pattern: RESOURCE, maxLength: 80 }), { minItems: 1, maxItems: 16 }),
    verbs: Type.Array(words(VERBS), { minItems: 1, maxItems: VERBS.length }),
  },
  { additionalProperties: false },
);
/** One rule of an operation's role, in the words of RBAC. */
export type PluginRule = Static<typeof Rule>;

export const RULE_WORDS: ReadonlyMap<string, string> = new Map([
  [GROUP, 'must be an API group written out, such as apps, or "" for the core group; a rule has no wildcards'],
  [
    RESOURCE,
    "must be a resource in lower case and plural, such as deployments or deployments/scale, without wildcards",
  ],
]);

/** Groups that say who may do what: with a right on them a plugin would reach more than its rules. */
export const CLOSED_GROUPS: ReadonlyMap<string, string> = new Map([
  ["rbac.authorization.k8s.io", "gives rights"],
  ["authentication.k8s.io", "issues credentials"],
  ["authorization.k8s.io", "tells what others may do"],
  ["certificates.k8s.io", "issues credentials"],
  ["admissionregistration.k8s.io", "decides what the cluster admits"],
  ["apiregistration.k8s.io", "decides who answers for an API"],
  ["apiextensions.k8s.io", "changes APIs"],
  ["sallyport.dev", "is Sallyport's own: grants and policies are for the customer"],
]);

export const STARTS_PODS =
  "starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own";

/** Resources of the groups of Kubernetes that no rule may name, or whose change none may. `*`: each verb that changes something. */
export const CLOSED: Readonly<Record<string, readonly [verbs: "all" | "*" | "create", why: string]>> = {
  "/secrets": ["all", "holds credentials"],
  "/serviceaccounts": ["all", "are identities"],
  "/bindings": ["all", "places pods"],
  "/nodes": ["*", "is changed by kubernetes/cordon-node and kubernetes/uncordon-node alone"],
  "/namespaces": ["*", "holds everything in it"],
  "/persistentvolumes": ["*", "reaches the disks of nodes"],
  "/podtemplates": ["*", STARTS_PODS],
  "/replicationcontrollers": ["*", STARTS_PODS],
  "apps/replicasets": ["*", STARTS_PODS],
  "apps/controllerrevisions": ["*", STARTS_PODS],
  "apps/deployments": ["create", STARTS_PODS],
  "apps/statefulsets": ["create", STARTS_PODS],
  "apps/daemonsets": ["create", STARTS_PODS],
  "batch/jobs": ["*", STARTS_PODS],
  "batch/cronjobs": ["*", STARTS_PODS],
};
/** A pod may be deleted, in the bounds of the policy `sallyport-pod-deletion`. */
const POD_CHANGES: readonly string[] = ["create", "patch"];

/** The subresources that a plugin's client can reach, with the verbs. */
export const SUBRESOURCES: Readonly<Record<string, readonly string[]>> = {
  log: ["get"],
  scale: ["get", "patch"],
  status: ["get", "patch"],
};

const WITHOUT_NAMESPACE: readonly string[] = [
  "/nodes",
  "/namespaces",
  "/persistentvolumes",
  "storage.k8s.io/storageclasses",
];
/** Groups of Kubernetes whose resources all lie in namespaces. */
const NAMESPACED_GROUPS: readonly string[] = [
  ...["apps", "batch", "autoscaling", "policy", "events.k8s.io", "discovery.k8s.io", "coordination.k8s.io"],
];

/** Whether one of the rules gives a right, as RBAC reads them. There are no wildcards in them. */
export function isCovered(rules: readonly PluginRule[], { group, resource, verb }: Right): boolean {
  return rules.some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(resource) && verbs.some((each) => each === verb),
  );
}

/** One right out of a rule, which means all combinations of its words: `patch` on `deployments/scale` of `apps`. */
export interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
}

/**
 * What is wrong with the rules of an operation. A rule that passes is no promise that a customer's cluster grants it: the chart's
 * values and the admission policies of the cluster have the last word.
 */
export function rulesIssues(
  rules: readonly PluginRule[],
  { tier, scope, path }: { readonly tier: Tier; readonly scope: Scope; readonly path: string },
): readonly Issue[] {
  return rules.flatMap((rule, index) => {
    const found = new Map<string, Issue>();
    for (const right of rightsOf(rule)) {
      const why = refusal(right, scope) ?? tierRefusal(right, tier);
      const named = [right.group, right.resource].filter((part) => part !== "").join("/");
      if (why !== undefined) found.set(`${named} ${why}`, { path: `${path}/${index}`, message: `${named} ${why}` });
    }
    return [...found.values()];
  });
}

export function rightsOf({ apiGroups, resources, verbs }: PluginRule): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
  );
}

function refusal({ group, resource: whole, verb }: Right, scope: Scope): string | undefined {
  const closed = CLOSED_GROUPS.get(group);
  if (closed !== undefined) return `may not be in a rule: it ${closed}`;
  const [resource = "", subresource] = whole.split("/");
  const name = `${group}/${resource}`;
  const changes = CHANGING.includes(verb);
  const [verbs, why] = CLOSED[name] ?? [];
  if (verbs === "all") return `may not be in a rule: it ${why}`;
  if (verbs === "create" ? verb === "create" : verbs === "*" && changes)
    return `may not have the verb ${verb}: it ${why}`;
  if (subresource !== undefined) return subresourceRefusal(name, subresource, verb);
  if (name === "/pods" && POD_CHANGES.includes(verb)) return `may not have the verb ${verb}: it ${STARTS_PODS}`;
  return scopeRefusal(group, name, scope);
}

function subresourceRefusal(name: string, subresource: string, verb: string): string | undefined {
  const known = subresource === "log" ? name === "/pods" : name !== "/pods";
  const verbs = known ? SUBRESOURCES[subresource] : undefined;
  if (verbs === undefined)
    return "may not be in a rule: a plugin's client reaches pods/log, and scale and status of other kinds";
  return verbs.includes(verb) ? undefined : `has only the verbs ${verbs.join(" and ")} for a plugin`;
}

function scopeRefusal(group: string, name: string, scope: Scope): string | undefined {
  const hasNone = WITHOUT_NAMESPACE.includes(name);
  if (scope === "namespaced") {
    return hasNone
      ? "lies in no namespace: an operation of scope namespaced has rights in one namespace alone"
      : undefined;
  }
  const lies = group === "" ? !hasNone : NAMESPACED_GROUPS.includes(group);
  return lies ? "lies in namespaces: an operation of scope cluster would have the right in all of them" : undefined;
}

function tierRefusal({ verb }: Right, tier: Tier): string | undefined {
  if (tier !== "read-only" || !CHANGING.includes(verb)) return undefined;
  return `has the verb ${verb}, but the operation's tier is read-only`;
}
