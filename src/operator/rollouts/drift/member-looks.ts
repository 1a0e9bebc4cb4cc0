import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { type Exchange, METADATA_OF_LIST } from "../../../kube/client/exchange.ts";
import { collectionPath, objectPath } from "../../../kube/objects/paths.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { ServedKinds } from "../hands/served-kinds.ts";
import { type Target, targetsOf } from "../hands/targets.ts";
import type { MemberLook } from "./drift.ts";
import { type FieldOwner, lostFields } from "./field-owners.ts";

/** Longest list that is read of one kind and namespace. */
const MAX_LISTED = 500;
/** The API server sends no specs, data or other values with these. */
const METADATA_ALONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Asked for only where others own fields of the release: they may have given its value back. */
const WHOLE = "application/json";

interface Member {
  readonly metadata: {
    readonly name: string;
    readonly managedFields?: readonly FieldOwner[];
  };
}

/** How the objects of a release are, by what the API server keeps beside their values. */
export class MemberLooks {
  readonly #exchange: Exchange;
  readonly #kinds = new ServedKinds();

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /**
   * By reference. One list a kind and namespace; one that may not be read leaves its objects unknown.
   *
   * @param lines of a content
   * @throws ApiError when the API server cannot be asked
   */
  async of(
    lines: readonly ReleaseObject[],
    deploymentId: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, MemberLook>> {
    const { targets } = await targetsOf(this.#kinds, this.#exchange, lines, signal);
    const looks = new Map<string, MemberLook>();
    const places = Map.groupBy(targets, ({ resource, line }) => collectionPath(resource, namespaceOf(line)));
    for (const [path, members] of places) {
      signal.throwIfAborted();
      try {
        await this.#lookAt(path, members, deploymentId, looks, signal);
      } catch (error) {
        if (!(error instanceof ApiError && error.isForbidden)) throw error;
        for (const { ref } of members) looks.set(ref, "unreadable");
      }
    }
    return looks;
  }

  async #lookAt(
    path: string,
    members: readonly Target[],
    deploymentId: string,
    looks: Map<string, MemberLook>,
    signal: AbortSignal,
  ): Promise<void> {
    const query = { labelSelector: `${DEPLOYMENT_ID_LABEL}=${deploymentId}`, limit: MAX_LISTED };
    const request = { method: "GET", path, query, accept: METADATA_OF_LIST } as const;
    const { items } = await this.#exchange.json<{ readonly items: readonly Member[] | null }>(request, signal);
    const found = new Map((items ?? []).map((each) => [each.metadata.name, each]));
    for (const { ref, line, resource } of members) {
      // One that has lost its labels is in no list, and is there all the same.
      const head = found.get(line.manifest.metadata.name) ?? (await this.#get(resource, line, METADATA_ALONE, signal));
      const isLost = head !== undefined && lostFields(line.manifest, ownersOf(head)).length > 0;
      const whole = isLost && !line.frozen ? await this.#get(resource, line, WHOLE, signal) : undefined;
      const there = whole ?? head;
      looks.set(ref, there === undefined ? "missing" : { managedFields: ownersOf(there), live: whole });
    }
  }

  async #get(
    resource: Resource,
    { manifest }: ReleaseObject,
    accept: string,
    signal: AbortSignal,
  ): Promise<Member | undefined> {
    const path = objectPath(resource, manifest.metadata);
    try {
      return await this.#exchange.json<Member>({ method: "GET", path, accept }, signal);
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }
}

function ownersOf({ metadata }: Member): readonly FieldOwner[] {
  return metadata.managedFields ?? [];
}

function namespaceOf({ manifest }: ReleaseObject): string | undefined {
  return manifest.metadata.namespace;
}
