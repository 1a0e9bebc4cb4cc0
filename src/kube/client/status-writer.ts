import { isDeepStrictEqual } from "node:util";
import type { KubeObject, Resource } from "../objects/resource.ts";
import type { Client } from "./client.ts";

/**
 * Writes the status of `object` on top of exactly the version that was read: a write that lost a race is a 409 and
 * changes nothing. That is what makes a claim a claim. No request when nothing differs.
 */
export async function writeStatus<T extends KubeObject & { readonly status?: S }, S extends object>(
  client: Pick<Client, "patch">,
  resource: Resource,
  object: T,
  status: S,
  signal: AbortSignal,
): Promise<T> {
  if (isDeepStrictEqual(object.status, status)) return object;
  const { name, namespace, resourceVersion } = object.metadata;
  const body = { metadata: { resourceVersion }, status };
  return client.patch<T>(resource, { name, namespace }, { type: "merge", body }, { subresource: "status" }, signal);
}
