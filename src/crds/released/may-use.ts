/** What a release may name, or bear, only when the customer says so: a value of `releases.mayUse` each. */
export const USED = {
  priorityClasses: {
    doc: "PriorityClasses of pods. A pod of a higher one evicts yours, in every namespace.",
    always: [],
  },
  runtimeClasses: { doc: "RuntimeClasses of pods.", always: [] },
  schedulers: { doc: "Schedulers of pods, beside `default-scheduler`.", always: ["default-scheduler"] },
  resourceClaims: { doc: "ResourceClaims and ResourceClaimTemplates of pods: devices of yours.", always: [] },
  extendedResources: {
    doc: "Resources with a domain that containers ask for, such as `nvidia.com/gpu`: devices of your nodes.",
    always: [],
  },
  annotations: {
    doc: "Annotations with a domain, of all objects and pods of a release, beside those of docs/releases.md: what a controller of yours obeys, such as `nginx.ingress.kubernetes.io/*`.",
    always: [
      ...["app.kubernetes.io/*", "checksum/*", "helm.sh/*", "kubectl.kubernetes.io/*", "meta.helm.sh/*"],
      ...["prometheus.io/*", "sallyport.dev/*"],
    ],
  },
  labels: {
    doc: "Labels with a domain, of all objects and pods of a release, beside those of docs/releases.md.",
    always: [
      // The API server itself labels the pods of a Job.
      ...["app.kubernetes.io/*", "helm.sh/*", "batch.kubernetes.io/*", "applyset.kubernetes.io/part-of"],
      ...["sallyport.dev/deployment-id", "sallyport.dev/release-id", "sallyport.dev/resource-id"],
    ],
  },
} as const satisfies Readonly<Record<string, { readonly doc: string; readonly always: readonly string[] }>>;
export type UsedList = keyof typeof USED;
export const USED_LISTS = Object.keys(USED) as readonly UsedList[];

/** Names, and beginnings of names that end with `*`. */
export type MayUse = Readonly<Record<UsedList, readonly string[]>>;

export const USES_NOTHING: MayUse = {
  ...{ priorityClasses: [], runtimeClasses: [], schedulers: [], resourceClaims: [] },
  ...{ extendedResources: [], annotations: [], labels: [] },
};

/** Names of these have a domain: a name without one is nobody's, and free. */
export const WITH_DOMAIN: readonly UsedList[] = ["extendedResources", "annotations", "labels"];
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9*])?$/;
const DOMAIN_NAME =
  /^[a-z0-9][-a-z0-9.]{0,251}[/]([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?|([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[*])$/;

/** One name, or the beginning of names: `*` alone would be every controller, and the priorities of the system. */
export function usePattern(list: UsedList): RegExp {
  return WITH_DOMAIN.includes(list) ? DOMAIN_NAME : NAME;
}

/** `priorityClasses`: `PRIORITY_CLASSES`, the end of a variable of the environment. */
export function upperSnake(list: UsedList): string {
  return list.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

export function isUsable(mayUse: MayUse, list: UsedList, name: string): boolean {
  if (WITH_DOMAIN.includes(list) && !name.includes("/")) return true;
  return isNamed([...USED[list].always, ...mayUse[list]], name);
}

/** Whether one of the patterns is the name, or its beginning with a `*`. */
export function isNamed(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
}

/** Pods that one release may have at once, unless the customer says otherwise. */
export const MAX_PODS = 100;

/**
 * Names that a headless Service may not have: with its pods' names before them they are names of the world, and a pod's resolver
 * looks into its own namespace first. Names of namespaces are refused beside these.
 */
export const TOP_LEVEL_DOMAINS: readonly string[] = [
  ...["ai", "biz", "ch", "co", "com", "de", "dev", "edu", "eu", "fr", "gov", "info", "int", "io", "jp", "mil", "net"],
  ...["nl", "org", "uk", "us", "xyz"],
  ...["arpa", "corp", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost", "svc"],
];
