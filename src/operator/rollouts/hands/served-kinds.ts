import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Exchange } from "../../../kube/client/exchange.ts";
import type { Resource } from "../../../kube/objects/resource.ts";

type Kinds = ReadonlyMap<string, Resource>;

/** Group versions that are remembered; a release has a handful. */
const MAX_KNOWN = 64;

/** By which paths the API server serves a kind. A customer may allow kinds of their own, so no list of ours would do. */
export class ServedKinds {
  readonly #known = new Map<string, Kinds>();

  /** @returns the resource of each of these manifests; undefined: the API server does not serve the kind. */
  async of(
    exchange: Pick<Exchange, "json">,
    manifests: readonly ReleaseManifest[],
    signal: AbortSignal,
  ): Promise<(manifest: ReleaseManifest) => Resource | undefined> {
    for (const { apiVersion, kind } of manifests) {
      if (this.#known.get(apiVersion)?.has(kind)) continue;
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(apiVersion, await served(exchange, apiVersion, signal));
    }
    const found = new Map(manifests.map(({ apiVersion }) => [apiVersion, this.#known.get(apiVersion)]));
    return ({ apiVersion, kind }) => found.get(apiVersion)?.get(kind);
  }
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

const API_VERSION = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[a-z0-9]+$/;

async function served(exchange: Pick<Exchange, "json">, apiVersion: string, signal: AbortSignal): Promise<Kinds> {
  // It becomes a path: what is no group and version asks for nothing.
  if (!API_VERSION.test(apiVersion)) return new Map();
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  try {
    const { resources = [] } = await exchange.json<ResourceList>({ method: "GET", path }, signal);
    const own = resources.filter(({ name }) => !name.includes("/"));
    return new Map(
      own.map(({ name, kind, namespaced }) => [
        kind,
        { group: group ?? "", version: version ?? "", kind, plural: name, namespaced },
      ]),
    );
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return new Map();
    throw error;
  }
}
