import { atOnce } from "../../../base/at-once.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { resources } from "../../../kube/objects/resource.ts";
import type { Membership } from "./membership.ts";
import { type LiveObject, MAX_LISTED, type ReleaseApi } from "./release-api.ts";
import { AT_ONCE, type Target } from "./targets.ts";

/**
 * What of these objects the deployment has, by ref: by one request a kind and namespace in place of one an object. What
 * it lacks may be there all the same: without the label, beyond the first of a long list, or where the list was too long.
 */
export async function membersOf(
  api: ReleaseApi,
  membership: Membership,
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, LiveObject>> {
  const selector = selectorOf(membership);
  const placeOf = ({ resource, line }: Target): string =>
    `${resource.group}/${resource.plural} ${line.manifest.metadata.namespace ?? ""}`;
  const places = [...Map.groupBy(targets, placeOf).values()];
  const found = await atOnce(places, AT_ONCE, async (members): Promise<(readonly [string, LiveObject])[]> => {
    const [first] = members;
    if (first === undefined) return [];
    const { apiVersion, kind, metadata } = first.line.manifest;
    const byName = new Map(members.map(({ line, ref }) => [line.manifest.metadata.name, ref]));
    const listed = await listedOr([], api.list(first.resource, metadata.namespace ?? "", selector, signal));
    return listed.flatMap((live) => {
      const ref = byName.get(live.metadata.name);
      // Of a list only the list itself says what it is of.
      return ref === undefined ? [] : [[ref, { ...live, apiVersion, kind }] as const];
    });
  });
  return new Map(found.flat());
}

/**
 * All pods of a deployment's releases in these namespaces: each carries its id, and so does each selector. Undefined:
 * they are too many for a list.
 */
export async function memberPods(
  api: ReleaseApi,
  membership: Membership,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  const selector = selectorOf(membership);
  const lists = await atOnce(namespaces, AT_ONCE, (namespace) =>
    listedOr(undefined, api.list(resources.pods, namespace, selector, signal)),
  );
  const found = lists.filter((each) => each !== undefined && each.length < MAX_LISTED);
  return found.length < lists.length ? undefined : found.flatMap((each) => each ?? []);
}

/** What carries the deployment's label. */
export function selectorOf(membership: Membership): string {
  return `${DEPLOYMENT_ID_LABEL}=${membership[DEPLOYMENT_ID_LABEL] ?? ""}`;
}

/** A list is a short cut: where it cannot be had, each object is asked for. */
async function listedOr<T, U>(instead: U, listed: Promise<T>): Promise<T | U> {
  try {
    return await listed;
  } catch (error) {
    if (error instanceof ApiError) return instead;
    throw error;
  }
}
