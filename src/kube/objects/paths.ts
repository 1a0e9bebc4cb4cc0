import type { ObjectKey, Resource } from "./resource.ts";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Path of all objects of `resource`, in `namespace` or in all. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : "";
  return `${root}${scope}/${resource.plural}`;
}

/** Path of one object, or of a part of it such as `status` or `scale`. */
export function objectPath(resource: Resource, key: ObjectKey, subresource?: string): string {
  if (resource.namespaced && !key.namespace) throw new Error(`${resource.kind} ${key.name}: a namespace is required`);
  const path = `${collectionPath(resource, key.namespace)}/${segment(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `path` with the parameters that are set. */
export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

/**
 * One path segment. Names are checked because `encodeURIComponent` leaves dots alone, and `..` as a name would walk
 * to another resource: names come from objects that others wrote. RBAC names may hold colons and capitals.
 */
function segment(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("%")) {
    throw new Error(`not a name of an object: ${JSON.stringify(name)}`);
  }
  return encodeURIComponent(name);
}
