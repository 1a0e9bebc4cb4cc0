/** One kind of object as the API server's paths name it. Structurally anything with these five fields will do. */
export interface Resource {
  /** API group; `""` is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Lower-case plural, the path segment and the name in RBAC rules. */
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Metadata of an object that the server has stored. `managedFields` is left out on purpose: nothing here reads it. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  /** Opaque; compare for equality only. */
  readonly resourceVersion: string;
  /** Counts changes of the spec; absent on kinds without a spec. */
  readonly generation?: number;
  /** RFC 3339, whole seconds. */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** What every answer of the API server has. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** An object of which only the frame is known: fields are there, as `unknown`. */
export interface DynamicObject extends KubeObject {
  readonly [field: string]: unknown;
}

/** Metadata that a client may send: what the server fills in is absent or optional. */
export interface NewMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  /** Sent only as a precondition. */
  readonly uid?: string;
  /** Sent only as a precondition: the write fails with 409 when the object has moved on. */
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** `T` before the server has seen it. */
export type NewObject<T extends KubeObject> = Omit<T, "metadata" | "status"> & { readonly metadata: NewMeta };

/** The fields of `T` that one field manager owns: the whole intent of a server-side apply, nothing else. */
export type AppliedObject<T extends KubeObject> = {
  readonly [K in keyof Omit<T, "metadata" | "apiVersion" | "kind">]?: DeepPartial<T[K]>;
} & { readonly apiVersion: string; readonly kind: string; readonly metadata: NewMeta & { readonly name: string } };

type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** Names one object of a resource. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** `"namespace/name"`, or `"name"` for cluster-scoped objects. The same form as client-go's cache keys. */
export function keyOf(object: {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}): string {
  const { name, namespace } = object.metadata;
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** Inverse of {@link keyOf}. Names hold no slash, so the split is unambiguous. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The `apiVersion` that objects of `resource` carry. */
export function apiVersionOf(resource: Pick<Resource, "group" | "version">): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

function kind(group: string, version: string, name: string, plural: string, namespaced: boolean): Resource {
  return Object.freeze({ group, version, kind: name, plural, namespaced });
}

/** Built-in kinds. */
export const resources = {
  pods: kind("", "v1", "Pod", "pods", true),
  nodes: kind("", "v1", "Node", "nodes", false),
  namespaces: kind("", "v1", "Namespace", "namespaces", false),
  configMaps: kind("", "v1", "ConfigMap", "configmaps", true),
  secrets: kind("", "v1", "Secret", "secrets", true),
  services: kind("", "v1", "Service", "services", true),
  serviceAccounts: kind("", "v1", "ServiceAccount", "serviceaccounts", true),
  persistentVolumeClaims: kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true),
  deployments: kind("apps", "v1", "Deployment", "deployments", true),
  statefulSets: kind("apps", "v1", "StatefulSet", "statefulsets", true),
  daemonSets: kind("apps", "v1", "DaemonSet", "daemonsets", true),
  replicaSets: kind("apps", "v1", "ReplicaSet", "replicasets", true),
  jobs: kind("batch", "v1", "Job", "jobs", true),
  cronJobs: kind("batch", "v1", "CronJob", "cronjobs", true),
  podMetrics: kind("metrics.k8s.io", "v1beta1", "PodMetrics", "pods", true),
  events: kind("events.k8s.io", "v1", "Event", "events", true),
  leases: kind("coordination.k8s.io", "v1", "Lease", "leases", true),
  podDisruptionBudgets: kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true),
  roles: kind("rbac.authorization.k8s.io", "v1", "Role", "roles", true),
  roleBindings: kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true),
  clusterRoles: kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false),
  clusterRoleBindings: kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false),
  customResourceDefinitions: kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    false,
  ),
  validatingAdmissionPolicies: kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    false,
  ),
  validatingAdmissionPolicyBindings: kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    false,
  ),
} as const satisfies Record<string, Resource>;
