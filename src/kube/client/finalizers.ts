import type { KubeObject, Resource } from "../objects/resource.ts";
import { ApiError } from "./api-error.ts";
import type { Client } from "./client.ts";
import type { JsonPatchOperation } from "./client-options.ts";

// Each patch tests what it was computed from, so a race fails (422 `Invalid`) instead of removing another controller's finalizer;
// read again then.
// Source: kube-rs `kube-runtime/src/finalizer.rs`; the test of the uid is ours, for an object deleted and made again.

/**
 * @returns the object with the finalizer; as it is, without a request, where it has it or is being deleted: then the API server
 * takes no new one
 */
export async function addFinalizer<T extends KubeObject>(
  client: Pick<Client, "patch">,
  resource: Resource,
  object: T,
  finalizer: string,
  signal: AbortSignal,
): Promise<T> {
  const { finalizers = [], deletionTimestamp, name, namespace } = object.metadata;
  if (finalizers.includes(finalizer) || deletionTimestamp !== undefined) return object;
  const path = "/metadata/finalizers";
  const add: readonly JsonPatchOperation[] =
    finalizers.length === 0
      ? // A test for null holds when the list is absent.
        [
          { op: "test", path, value: null },
          { op: "add", path, value: [finalizer] },
        ]
      : [
          { op: "test", path, value: finalizers },
          { op: "add", path: `${path}/-`, value: finalizer },
        ];
  const body = [sameObject(object), ...add];
  return client.patch<T>(resource, { name, namespace }, { type: "json", body }, {}, signal);
}

/**
 * No request where the object does not have it. An object that is gone is no error: it had no finalizer any more, and the cache is
 * a moment behind, or the answer of an earlier removal was lost.
 */
export async function removeFinalizer(
  client: Pick<Client, "patch">,
  resource: Resource,
  object: KubeObject,
  finalizer: string,
  signal: AbortSignal,
): Promise<void> {
  const { finalizers = [], name, namespace } = object.metadata;
  const at = finalizers.indexOf(finalizer);
  if (at < 0) return;
  const path = `/metadata/finalizers/${at}`;
  const body: readonly JsonPatchOperation[] = [
    sameObject(object),
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ];
  try {
    await client.patch(resource, { name, namespace }, { type: "json", body }, {}, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.isNotFound)) throw error;
  }
}

function sameObject({ metadata: { uid } }: KubeObject): JsonPatchOperation {
  return { op: "test", path: "/metadata/uid", value: uid };
}
