import { RELEASE_FIELD_MANAGER } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { JsonPatchOperation } from "../../../kube/client/client-options.ts";
import type { Failure } from "./apply-object.ts";
import { isMember, MEMBER_LABELS, type Membership } from "./membership.ts";
import { refusalText } from "./refusal-text.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";
import type { Target } from "./targets.ts";

const MAX_TRIES = 6;

/**
 * Lets one object go: our labels, and our name on its fields. An apply of nothing would do neither: the API server removes
 * fields that are applied no more.
 *
 * @returns whether it was ours; false also when it is gone.
 */
export async function detachObject(
  api: ReleaseApi,
  membership: Membership,
  { resource, line }: Target,
  signal: AbortSignal,
): Promise<boolean | Failure> {
  const { metadata } = line.manifest;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      const seen = await api.get(resource, metadata, signal);
      if (seen === undefined || !isMember(seen, membership)) return false;
      await api.patch(resource, metadata, lettingGo(seen), signal);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isNotFound) return false;
      if (error.status !== 409) return { message: refusalText(error), isTemporary: error.isTransient, cause: error };
    }
  }
  return { message: "others change it all the time", isTemporary: true };
}

/** On exactly this version of the object: entries of managedFields are removed by their places. */
function lettingGo({ metadata }: LiveObject): readonly JsonPatchOperation[] {
  const labels = MEMBER_LABELS.filter((label) => metadata.labels?.[label] !== undefined);
  const owned = (metadata.managedFields ?? []).flatMap(({ manager }, index) =>
    manager === RELEASE_FIELD_MANAGER ? [index] : [],
  );
  return [
    { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
    ...labels.map((label) => ({ op: "remove" as const, path: `/metadata/labels/${label.replaceAll("/", "~1")}` })),
    // From the last on: a removal moves those behind it.
    ...owned.toReversed().map((index) => ({ op: "remove" as const, path: `/metadata/managedFields/${index}` })),
  ];
}
