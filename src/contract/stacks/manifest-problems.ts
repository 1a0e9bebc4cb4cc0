import type { Manifest } from "./manifests-config.ts";
import { type StackProblem, shortened } from "./stack-problem.ts";

/** Groups of which no object is ever installed: rights, what judges or intercepts requests, and the cluster's own. */
const NEVER_GROUPS: ReadonlySet<string> = new Set([
  "rbac.authorization.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "certificates.k8s.io",
  "flowcontrol.apiserver.k8s.io",
  "node.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
  "sallyport.dev",
]);

const NEVER_KINDS: ReadonlySet<string> = new Set([
  "/Namespace",
  "/Node",
  "/PersistentVolume",
  "/Secret",
  "networking.k8s.io/IngressClass",
]);

/** What the API server fills in, and what would tie an object to others or keep it from being removed. */
const NEVER_METADATA = [
  ...["generateName", "ownerReferences", "finalizers", "uid", "resourceVersion", "generation", "managedFields"],
  ...["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"],
] as const;

/** Says when an object is applied, and a Job runs: before everything else of its resource, or after it. */
export const HOOK_ANNOTATION = "sallyport.dev/hook";
/** Of hooks of the same time the one with the smaller number is first. */
export const HOOK_WEIGHT_ANNOTATION = "sallyport.dev/hook-weight";
/** Of a Job that is a hook: with another text it runs again, though nothing else of it has changed. */
export const HOOK_RUN_ANNOTATION = "sallyport.dev/hook-run";

/** By annotation, what it may say and which values those are. Each is of a hook. */
const HOOKS: ReadonlyMap<string, { readonly says: string; readonly is: RegExp; readonly ofJobs?: boolean }> = new Map([
  [HOOK_ANNOTATION, { says: "is pre or post", is: /^(pre|post)$/ }],
  [HOOK_WEIGHT_ANNOTATION, { says: "is a whole number of at most 6 digits, of a hook", is: /^-?\d{1,6}$/ }],
  [
    HOOK_RUN_ANNOTATION,
    { says: "is a text of at most 256 characters, of a Job that is a hook", is: /^.{1,256}$/, ofJobs: true },
  ],
]);
const OWN_PREFIXES = ["sallyport.dev/", "applyset.kubernetes.io/"];

/** Where the kinds that run pods have their template. A misspelt field would else be refused only in the customer's cluster. */
const TEMPLATE_AT: ReadonlyMap<string, readonly string[]> = new Map([
  ["apps/Deployment", ["spec", "template"]],
  ["apps/StatefulSet", ["spec", "template"]],
  ["apps/DaemonSet", ["spec", "template"]],
  ["batch/Job", ["spec", "template"]],
  ["batch/CronJob", ["spec", "jobTemplate", "spec", "template"]],
]);

/** Of a label, as the API server takes it. */
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** `apps/Deployment`, `/Service`: without the version, because each version shows the same object. */
export function groupKindOf({ apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">): string {
  const slash = apiVersion.indexOf("/");
  return `${slash < 0 ? "" : apiVersion.slice(0, slash)}/${kind}`;
}

/** What the schema cannot say of one object. */
export function* manifestProblems(object: Manifest, path: string): Generator<StackProblem> {
  const groupKind = groupKindOf(object);
  const [group = ""] = groupKind.split("/");
  if (NEVER_GROUPS.has(group) || NEVER_KINDS.has(groupKind)) {
    const instead = groupKind === "/Secret" ? ": name one that the customer provides" : "";
    yield { path: `${path}.kind`, message: `${shortened(object.kind)} is never installed by a release${instead}` };
  }
  if (object.kind.endsWith("List") && "items" in object) {
    yield { path: `${path}.kind`, message: `${shortened(object.kind)} holds others: give each by itself` };
  }
  if ("status" in object) yield { path: `${path}.status`, message: "is the cluster's to write" };
  for (const field of NEVER_METADATA) {
    if (Object.hasOwn(object.metadata, field)) {
      yield { path: `${path}.metadata.${field}`, message: "must be left out" };
    }
  }
  const missing = missingAt(object, TEMPLATE_AT.get(groupKind) ?? []);
  if (missing !== undefined) yield { path: `${path}.${missing}`, message: "is required" };
  for (const field of ["labels", "annotations"] as const) {
    for (const [key, value] of Object.entries(object.metadata[field] ?? {})) {
      const at = `${path}.metadata.${field}.${shortened(key)}`;
      const hook = field === "annotations" ? HOOKS.get(key) : undefined;
      if (hook !== undefined) {
        const isOfHook = Object.hasOwn(object.metadata.annotations ?? {}, HOOK_ANNOTATION);
        const isOfKind = hook.ofJobs !== true || groupKind === "batch/Job";
        if (!hook.is.test(value) || !isOfHook || !isOfKind) yield { path: at, message: hook.says };
      } else if (OWN_PREFIXES.some((prefix) => key.startsWith(prefix))) {
        yield { path: at, message: "is written by the runner of releases alone" };
      } else if (field === "labels" && !LABEL_VALUE.test(value)) {
        yield { path: at, message: "is at most 63 letters, digits, -, _ and ., with a letter or digit at both ends" };
      }
    }
  }
}

/** The first of these fields, one in the other, that is not there; of an object without the first nothing is said. */
function missingAt(object: object, [first, ...fields]: readonly string[]): string | undefined {
  let at: unknown = first === undefined ? undefined : Reflect.get(object, first);
  if (typeof at !== "object" || at === null) return undefined;
  for (const [index, field] of fields.entries()) {
    at = typeof at === "object" && at !== null ? Reflect.get(at, field) : undefined;
    if (at === undefined || at === null) return [first, ...fields.slice(0, index + 1)].join(".");
  }
  return undefined;
}
