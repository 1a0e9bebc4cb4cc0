import type { KubeObject } from "../objects/resource.ts";
import type { JsonPatchOperation } from "./client-options.ts";

/**
 * JSON patches for one finalizer. Each tests what it was computed from, so a race fails (422 `Invalid`) instead of
 * removing another controller's finalizer; read again then. `undefined`: nothing to do.
 *
 * Source: kube-rs `kube-runtime/src/finalizer.rs`; the test of the uid is ours, for an object deleted and made again.
 */
export function addFinalizer(object: KubeObject, finalizer: string): readonly JsonPatchOperation[] | undefined {
  const { finalizers = [], uid, deletionTimestamp } = object.metadata;
  // Nothing can be added once deletion has been asked for: the API server refuses.
  if (finalizers.includes(finalizer) || deletionTimestamp !== undefined) return undefined;
  const path = "/metadata/finalizers";
  if (finalizers.length === 0) {
    // A test for null holds when the list is absent.
    return [sameObject(uid), { op: "test", path, value: null }, { op: "add", path, value: [finalizer] }];
  }
  return [sameObject(uid), { op: "test", path, value: finalizers }, { op: "add", path: `${path}/-`, value: finalizer }];
}

export function removeFinalizer(object: KubeObject, finalizer: string): readonly JsonPatchOperation[] | undefined {
  const { finalizers = [], uid } = object.metadata;
  const at = finalizers.indexOf(finalizer);
  if (at < 0) return undefined;
  const path = `/metadata/finalizers/${at}`;
  return [sameObject(uid), { op: "test", path, value: finalizer }, { op: "remove", path }];
}

function sameObject(uid: string): JsonPatchOperation {
  return { op: "test", path: "/metadata/uid", value: uid };
}
