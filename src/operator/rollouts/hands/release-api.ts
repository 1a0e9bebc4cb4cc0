import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import { RELEASE_FIELD_MANAGER } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { JsonPatchOperation } from "../../../kube/client/client-options.ts";
import type { Exchange, METADATA_OF_LIST } from "../../../kube/client/exchange.ts";
import { collectionPath, objectPath } from "../../../kube/objects/paths.ts";
import {
  type DynamicObject,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  type Resource,
  resources,
} from "../../../kube/objects/resource.ts";
import type { ManagedFields } from "./fields/managed-fields.ts";

/** An object as the API server has it, with who owns which of its fields. */
export interface LiveObject extends DynamicObject {
  readonly metadata: ObjectMeta & {
    readonly managedFields?: readonly ManagedFields[];
  };
}

/** An event of type Warning; those of the old recorder have only the deprecated time. */
export interface Warning extends KubeObject {
  readonly reason?: string;
  readonly note?: string;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string } | null;
  readonly deprecatedLastTimestamp?: string | null;
}

export interface ApplyMode {
  readonly isDryRun: boolean;
  /** Takes fields from their present managers. */
  readonly force: boolean;
}

/** Longest list of objects that is read of one kind and namespace. */
export const MAX_LISTED = 500;
/** Of such a list: a release has 900 KiB, beside what the API server notes of its objects. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;
/** The API server keeps one for each reason and text, for an hour. */
const MAX_WARNINGS = 50;
const MAX_WARNING_BYTES = 1024 * 1024;
/** No object has it, because the store's first revision is a later one: an apply with it makes an object, or is refused. */
const NEVER_A_VERSION = "1";

/** The verbs of a release, as one of its accounts. Nothing is written before `fence` says that this process leads. */
export class ReleaseApi {
  readonly exchange: Exchange;
  readonly #fence: () => void;

  constructor(exchange: Exchange, fence: () => void) {
    this.exchange = exchange;
    this.#fence = fence;
  }

  async get(resource: Resource, key: ObjectKey, signal: AbortSignal): Promise<LiveObject | undefined> {
    return absent(this.exchange.json<LiveObject>({ method: "GET", path: objectPath(resource, key) }, signal));
  }

  /** The first {@link MAX_LISTED}. @param accept {@link METADATA_OF_LIST}: without what they hold. */
  async list(
    resource: Resource,
    namespace: string,
    labelSelector: string,
    signal: AbortSignal,
    accept?: typeof METADATA_OF_LIST,
  ): Promise<readonly LiveObject[]> {
    const query = { labelSelector, limit: MAX_LISTED };
    const path = collectionPath(resource, namespace);
    const { items } = await this.exchange.json<{ readonly items: readonly LiveObject[] | null }>(
      { method: "GET", path, query, maxBytes: MAX_LIST_BYTES, ...(accept && { accept }) },
      signal,
    );
    return items ?? [];
  }

  /** Events of type Warning about one object, {@link MAX_WARNINGS} at most. */
  async warnings(namespace: string, uid: string, signal: AbortSignal): Promise<readonly Warning[]> {
    const query = { fieldSelector: `regarding.uid=${uid},type=Warning`, limit: MAX_WARNINGS };
    const path = collectionPath(resources.events, namespace);
    const { items } = await this.exchange.json<{ readonly items: readonly Warning[] | null }>(
      { method: "GET", path, query, maxBytes: MAX_WARNING_BYTES },
      signal,
    );
    return items ?? [];
  }

  /**
   * Server-side apply to exactly the object that was looked at, in the version that was.
   *
   * @param seen undefined: none of that name.
   * @throws ApiError 409 when one has appeared, or this one was changed, in between: a release never writes to an object
   * that it has not judged, and tells as its own no change that another has made.
   */
  apply(
    resource: Resource,
    manifest: ReleaseManifest,
    seen: LiveObject | undefined,
    { isDryRun, force }: ApplyMode,
    signal: AbortSignal,
  ): Promise<LiveObject> {
    const only =
      seen === undefined
        ? { resourceVersion: NEVER_A_VERSION }
        : { uid: seen.metadata.uid, resourceVersion: seen.metadata.resourceVersion };
    if (!isDryRun) this.#fence();
    return this.exchange.json<LiveObject>(
      {
        method: "PATCH",
        path: objectPath(resource, manifest.metadata),
        query: { fieldManager: RELEASE_FIELD_MANAGER, force, ...dryRun(isDryRun) },
        body: { ...manifest, metadata: { ...manifest.metadata, ...only } },
        contentType: "application/apply-patch+yaml",
      },
      signal,
    );
  }

  /** A plain create, of what no release applies: Secrets, and the proof that an account is held to dry runs. */
  create(
    resource: Resource,
    manifest: ReleaseManifest,
    signal: AbortSignal,
    { isDryRun }: Pick<ApplyMode, "isDryRun"> = { isDryRun: false },
  ): Promise<LiveObject> {
    if (!isDryRun) this.#fence();
    const path = collectionPath(resource, manifest.metadata.namespace);
    const query = { fieldManager: RELEASE_FIELD_MANAGER, ...dryRun(isDryRun) };
    return this.exchange.json<LiveObject>({ method: "POST", path, query, body: manifest }, signal);
  }

  /** Of what may not be looked at. False: it is gone already. */
  async deleteNamed(
    resource: Resource,
    key: ObjectKey,
    signal: AbortSignal,
    { isDryRun }: Pick<ApplyMode, "isDryRun"> = { isDryRun: false },
  ): Promise<boolean> {
    if (!isDryRun) this.#fence();
    const path = objectPath(resource, key);
    const deleted = this.exchange.bytes({ method: "DELETE", path, query: dryRun(isDryRun) }, signal);
    return (await absent(deleted)) !== undefined;
  }

  patch(
    resource: Resource,
    key: ObjectKey,
    body: readonly JsonPatchOperation[],
    signal: AbortSignal,
  ): Promise<LiveObject> {
    this.#fence();
    const query = { fieldManager: RELEASE_FIELD_MANAGER };
    const contentType = "application/json-patch+json";
    const path = objectPath(resource, key);
    return this.exchange.json<LiveObject>({ method: "PATCH", path, query, body, contentType }, signal);
  }

  /** Of exactly this object. False: it is gone already. @throws ApiError 409 when the name is another object's now. */
  async delete(resource: Resource, { metadata }: LiveObject, signal: AbortSignal): Promise<boolean> {
    this.#fence();
    const { uid } = metadata;
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground", preconditions: { uid } };
    const path = objectPath(resource, metadata);
    return (await absent(this.exchange.bytes({ method: "DELETE", path, body }, signal))) !== undefined;
  }
}

function dryRun(isDryRun: boolean): { readonly dryRun?: "All" } {
  return isDryRun ? { dryRun: "All" } : {};
}

async function absent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return undefined;
    throw error;
  }
}
