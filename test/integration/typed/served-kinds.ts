import type { Cluster } from "../../../lab/cluster/cluster.ts";

/** A kind that the API server serves. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** All by which kubectl knows it: singular, plural, short. */
  readonly names: readonly string[];
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind: { readonly kind: string };
        readonly scope: "Namespaced" | "Cluster";
        readonly singularResource: string;
        readonly shortNames?: readonly string[];
      }[];
    }[];
  }[];
}

const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Reads what the API server serves, core first, as kubectl prefers it. */
export async function readServedKinds(cluster: Cluster): Promise<readonly ServedKind[]> {
  const found: ServedKind[] = [];
  for (const path of ["/api", "/apis"]) {
    const { status, body } = await cluster.request({ path, headers: { accept: ACCEPT } });
    if (status !== 200) throw new Error(`no discovery at ${path}: ${status} ${JSON.stringify(body)}`);
    for (const { metadata, versions } of (body as Discovery).items) {
      const group = metadata.name ?? "";
      for (const { version, resources = [] } of versions) {
        for (const { resource: plural, responseKind, scope, singularResource, shortNames = [] } of resources) {
          const names = [plural, singularResource, ...shortNames];
          const { kind } = responseKind;
          found.push({ group, version, kind, plural, namespaced: scope === "Namespaced", names });
        }
      }
    }
  }
  return found;
}

/** By what a person types: `rout`, `pods`, `deployments.apps`. */
export function kindTyped(kinds: readonly ServedKind[], typed: string): ServedKind | undefined {
  const word = typed.toLowerCase();
  return kinds.find(({ names, group }) => names.some((name) => word === name || word === `${name}.${group}`));
}

/** By what an object says of itself. */
export function kindOf(kinds: readonly ServedKind[], object: Typed): ServedKind | undefined {
  const [version = "", group = ""] = (object.apiVersion ?? "").split("/").toReversed();
  return kinds.find((each) => each.kind === object.kind && each.version === version && each.group === group);
}

/** An object before the API server has it. */
export interface Typed {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
}

export function pathOf(kind: ServedKind, namespace: string, name?: string): string {
  const { group, version, plural, namespaced } = kind;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const where = namespaced ? `/namespaces/${namespace}` : "";
  return `${root}${where}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}
