import Type, { type Static } from "typebox";
import { type Issue, MAX_ISSUES } from "./issue.ts";
import { KNOWN_CONTROLLERS, patternOf } from "./known-controllers.ts";
import { type Tier, words } from "./words.ts";

/** What a plugin's client can ask for. There is no verb for what it cannot. */
const VERBS = ["get", "list", "create", "patch", "delete"] as const;

const GROUP = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$";
const RESOURCE = "^[a-z]([-a-z0-9]*[a-z0-9])?(/[a-z]+)?$";

/**
 * Pairs of API group and resource in all rules of one plugin together. A rule means each of its groups with each of its resources, so that
 * 64 operations have room for 131,072 pairs, and the platform, the operator and the chart would judge each of them.
 */
export const MAX_PAIRS = 256;
export const PAIRS_WORDS: string = `have more than ${MAX_PAIRS} pairs of API group and resource in all operations together, and a rule means each of its groups with each of its resources: name what the operations need, in rules of one group each`;

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

/** One row of the table of refusals. The first that fits a right decides; with an empty reason the right is let through. */
interface Row {
  readonly tier?: Tier;
  /** Undefined: each. */
  readonly verbs?: readonly string[];
  /** Pattern of group and resource: `apps/deployments`, `/pods/log`. */
  readonly on: string;
  readonly why: string;
}

const CHANGING = ["create", "patch", "delete"];
const STARTS_PODS =
  "it starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own";
const TRAFFIC = "it takes addresses, hosts or traffic, also from beyond its namespace";
const SUBRESOURCES =
  "of subresources a plugin's client reaches pods/log (get), and scale and status of other kinds (get, patch)";

const ROWS: readonly Row[] = [
  // Groups that say who may do what: with a right on them a plugin would reach more than its rules.
  { on: String.raw`rbac\.authorization\.k8s\.io/.*`, why: "it gives rights" },
  { on: String.raw`(authentication|certificates)\.k8s\.io/.*`, why: "it issues credentials" },
  { on: String.raw`authorization\.k8s\.io/.*`, why: "it tells what others may do" },
  { on: String.raw`admissionregistration\.k8s\.io/.*`, why: "it decides what the cluster admits" },
  { on: String.raw`apiregistration\.k8s\.io/.*`, why: "it decides who answers for an API" },
  { on: String.raw`apiextensions\.k8s\.io/.*`, why: "it changes APIs" },
  {
    on: String.raw`sallyport\.dev/.*`,
    why: "it is Sallyport's own: grants and policies are for the customer",
  },
  { on: "/secrets(/.*)?", why: "it holds credentials" },
  { on: "/serviceaccounts(/.*)?", why: "it is an identity" },
  { on: "/bindings(/.*)?", why: "it places pods" },
  // A role that is bound in a namespace has its rights on the Namespace itself too.
  {
    on: String.raw`/(nodes|namespaces|persistentvolumes)(/.*)?|storage\.k8s\.io/storageclasses`,
    why: "it lies in no namespace, and an operation has rights in one namespace alone",
  },
  {
    verbs: ["create", "patch"],
    on: "(/podtemplates|/replicationcontrollers|apps/replicasets|apps/controllerrevisions|batch/jobs|batch/cronjobs)(/.*)?",
    why: STARTS_PODS,
  },
  { verbs: ["create"], on: "apps/(deployments|statefulsets|daemonsets)(/.*)?", why: STARTS_PODS },
  {
    verbs: ["create", "patch"],
    on: "autoscaling/horizontalpodautoscalers(/.*)?",
    why: "it starts as many pods as it says: a plugin sets replicas by the subresource scale, up to 1,000",
  },
  // An external address, a host or a false status of a load balancer takes traffic in the whole cluster; endpoints lead to any pod.
  {
    verbs: CHANGING,
    on: String.raw`(/services|/endpoints)(/.*)?|(discovery|gateway\.networking)\.k8s\.io/.*|networking\.k8s\.io/ingresses(/.*)?`,
    why: TRAFFIC,
  },
  {
    verbs: CHANGING,
    on: String.raw`(/resourcequotas|/limitranges|networking\.k8s\.io/networkpolicies|policy/poddisruptionbudgets)(/.*)?`,
    why: "it is a bound that the customer sets",
  },
  {
    verbs: CHANGING,
    on: String.raw`/events|events\.k8s\.io/.*`,
    why: "it is told to the vendor with the health of workloads: what an operation says stands in its result",
  },
  // Leases, claims of devices, snapshots, capacities: what they say decides beyond their namespace.
  {
    verbs: CHANGING,
    on: String.raw`([-a-z0-9]+\.)+k8s\.io/.*`,
    why: "it is of Kubernetes' own groups in k8s.io, whose kinds decide for more than their namespace: a plugin only reads them",
  },
  { verbs: ["create"], on: "/persistentvolumeclaims", why: "it takes a volume, which lies in no namespace" },
  ...KNOWN_CONTROLLERS.map(({ verbs, groups, why }) => ({ verbs, on: patternOf(groups), why })),
  // Other controllers act on it: a false one has pods evicted or volumes grown. A group of Kubernetes' own has no dot, or ends with k8s.io.
  {
    verbs: ["patch"],
    on: "[-a-z0-9]*/[-a-z0-9]+/status",
    why: "it is what the controller of a built-in kind says: a plugin writes the status of other kinds alone",
  },
  // A pod may be deleted, in the bounds of the policy `sallyport-pod-deletion`.
  { verbs: ["create", "patch"], on: "/pods", why: STARTS_PODS },
  { tier: "read-only", verbs: CHANGING, on: ".*", why: "the operation's tier is read-only" },
  // What runs by itself under a policy of `mutating: auto` takes nothing away.
  { tier: "mutating", verbs: ["delete"], on: ".*", why: "the operation's tier is mutating, and must be destructive" },
  { verbs: ["get"], on: "/pods/log", why: "" },
  { on: "/pods/.*", why: SUBRESOURCES },
  { verbs: ["get", "patch"], on: "[-.a-z0-9]*/[-a-z0-9]+/(scale|status)", why: "" },
  { on: "[-.a-z0-9]*/[-a-z0-9]+/.*", why: SUBRESOURCES },
];

/**
 * A row of the table, for JavaScript and for the chart: it matches many lines at once, in a language without look-around. So no part of a
 * pattern takes the end of a line.
 */
export interface Refusal {
  /** Of a right as one line: `mutating patch apps/deployments`. */
  readonly pattern: string;
  readonly why: string;
}

export const REFUSALS: readonly Refusal[] = ROWS.map(({ tier = "[a-z-]+", verbs = ["[a-z]+"], on, why }) => ({
  pattern: `^(${tier}) (${verbs.join("|")}) (${on})$`,
  why,
}));
const READY = ROWS.map((row) => ({ ...row, on: new RegExp(`^(${row.on})$`) }));

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

/** Of these rules, without multiplying them. */
export function pairsIn(rules: readonly PluginRule[]): number {
  return rules.reduce((sum, { apiGroups, resources }) => sum + apiGroups.length * resources.length, 0);
}

/**
 * What is wrong with the rules of an operation: the first {@link MAX_ISSUES}. The caller has held all rules of the plugin to
 * {@link MAX_PAIRS} before, because each pair is judged. A rule that passes is no promise that a customer's cluster grants it: the chart's
 * values and the admission policies of the cluster have the last word.
 */
export function rulesIssues(
  rules: readonly PluginRule[],
  { tier, path }: { readonly tier: Tier; readonly path: string },
): readonly Issue[] {
  const issues = rules.flatMap((rule, index) => {
    const twice = doubleWords(rule);
    if (twice.length > 0)
      return twice.map((name) => ({ path: `${path}/${index}/${name}`, message: "has a word twice" }));
    const found = new Map<string, Set<string>>();
    for (const on of rule.apiGroups.flatMap((group) => rule.resources.map((resource) => `${group}/${resource}`))) {
      const rows = READY.filter((row) => row.on.test(on));
      for (const verb of rule.verbs) {
        const why = rows.find((row) => (row.tier ?? tier) === tier && (row.verbs?.includes(verb) ?? true))?.why ?? "";
        if (why === "") continue;
        const words = ` on ${on.replace(/^\//, "")}: ${why}`;
        found.set(words, (found.get(words) ?? new Set()).add(verb));
      }
    }
    return [...found].map(([words, verbs]) => ({
      path: `${path}/${index}`,
      message: `may not have ${[...verbs].join(", ")}${words}`,
    }));
  });
  return issues.slice(0, MAX_ISSUES);
}

/** Not by uniqueItems of {@link Rule}: typebox looks for doubles also in lists that are longer than allowed, and takes a second there. */
function doubleWords({ apiGroups, resources, verbs }: PluginRule): readonly string[] {
  return Object.entries({ apiGroups, resources, verbs }).flatMap(([name, list]) =>
    new Set<string>(list).size === list.length ? [] : [name],
  );
}

export function rightsOf({ apiGroups, resources, verbs }: PluginRule): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
  );
}
