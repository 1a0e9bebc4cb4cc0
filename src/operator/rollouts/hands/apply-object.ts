import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { conflictsOf, giveWay, type Override } from "../give-way.ts";
import { differences } from "./difference.ts";
import { fieldsOfClientAlone, inPlaceOfClient } from "./managed-fields.ts";
import { isMember, type Membership, whoseElse } from "./membership.ts";
import { refusalText } from "./refusal-text.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";

export interface Failure {
  readonly message: string;
  readonly isTemporary: boolean;
  /** What was thrown, if anything was. */
  readonly cause?: unknown;
  /** The customer can let the release have this object. */
  readonly isAdoptable?: boolean;
}

export interface Outcome {
  readonly did: "created" | "changed" | "unchanged";
  readonly overrides: readonly Override[];
  /** Fields that are different now. */
  readonly fields: readonly string[];
  /** It was the customer's, who has let the release have it. */
  readonly isAdopted?: boolean;
}

export interface Wish {
  readonly resource: Resource;
  readonly manifest: ReleaseManifest;
  readonly isDryRun: boolean;
  /** The customer lets it take the object, or fields of it, from those that have them. */
  readonly takesOver: boolean;
  /** It is left as it is where it is there. */
  readonly isFrozen: boolean;
}

/** An object may be changed by others between the look at it and the apply, and again at the next try. */
const MAX_TRIES = 10;

/**
 * Applies one object: never over one that the deployment has not made, and without the fields that others own, unless the
 * customer has said so. After a crash at any point of it, it does what is left to do.
 */
export async function applyObject(
  api: ReleaseApi,
  membership: Membership,
  wish: Wish,
  signal: AbortSignal,
): Promise<Outcome | Failure> {
  let { manifest } = wish;
  const overrides: Override[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      const seen = await api.get(wish.resource, manifest.metadata, signal);
      const refused = seen === undefined ? undefined : notToBeTouched(seen, membership, wish);
      if (refused !== undefined) return refused;
      const isAdopted = seen !== undefined && !isMember(seen, membership);
      if (seen !== undefined && wish.isFrozen && !isAdopted) return { did: "unchanged", overrides: [], fields: [] };
      const applied = await applyTo(api, manifest, seen, wish, signal);
      return { ...outcomeOf(seen, applied, overrides, wish), ...(isAdopted && { isAdopted }) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const conflicts = conflictsOf(error);
      if (conflicts.length > 0) {
        const given = giveWay(manifest, conflicts);
        if (given === undefined) return { message: cannotGiveWay(conflicts), isTemporary: false };
        ({ manifest } = given);
        overrides.push(...given.overrides);
      } else if (!isRace(error)) {
        return { message: refusalText(error), isTemporary: error.isTransient || isEarly(error), cause: error };
      }
    }
  }
  return { message: "others change it all the time", isTemporary: true };
}

export const isFailure = (result: Outcome | Failure): result is Failure => "isTemporary" in result;

function notToBeTouched(seen: LiveObject, membership: Membership, wish: Wish): Failure | undefined {
  if (!isMember(seen, membership)) {
    const other = whoseElse(seen);
    const notOurs = "NotOurs: an object of this name is there that this deployment has not made";
    if (other !== undefined) return { message: `${notOurs}: ${other}`, isTemporary: false };
    if (!wish.takesOver) {
      return { message: `${notOurs}; spec.takeOver may name it`, isTemporary: false, isAdoptable: true };
    }
  }
  // Applied to an object that goes, the release would be gone with it.
  if (seen.metadata.deletionTimestamp === undefined || wish.isDryRun) return undefined;
  return { message: "the object of this name is being deleted", isTemporary: true };
}

async function applyTo(
  api: ReleaseApi,
  manifest: ReleaseManifest,
  seen: LiveObject | undefined,
  { resource, isDryRun, takesOver }: Wish,
  signal: AbortSignal,
): Promise<LiveObject> {
  const mode = { isDryRun, force: takesOver };
  const applied = await api.apply(resource, manifest, seen, mode, signal);
  const managedFields = takesOver ? inPlaceOfClient(applied.metadata.managedFields ?? []) : undefined;
  // A dry run could not show it: the second request would not see the first.
  if (managedFields === undefined || isDryRun) return applied;
  // What the customer's file has set is the release's from now on, which removes what it does not have.
  const { resourceVersion } = applied.metadata;
  const version = { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion } as const;
  const fields = { op: "replace", path: "/metadata/managedFields", value: managedFields } as const;
  const taken = await api.patch(resource, applied.metadata, [version, fields], signal);
  return api.apply(resource, manifest, taken, mode, signal);
}

function outcomeOf(
  seen: LiveObject | undefined,
  applied: LiveObject,
  overrides: readonly Override[],
  { takesOver }: Wish,
): Outcome {
  if (seen === undefined || seen.metadata.deletionTimestamp !== undefined) {
    return { did: "created", overrides, fields: [] };
  }
  // Of a dry run: the file's entry is still there, and what only it has is going to be removed.
  const left = takesOver ? fieldsOfClientAlone(applied.metadata.managedFields ?? []) : [];
  const fields = [...new Set([...differences(seen, applied), ...left])];
  return { did: fields.length === 0 ? "unchanged" : "changed", overrides, fields };
}

/** The API server reads the customer's word from a cache: it may not have seen yet that this object may be adopted. */
function isEarly(error: ApiError): boolean {
  return error.isForbidden && error.message.includes("ValidatingAdmissionPolicy 'sallyport-rollout-adoptions'");
}

/** The object is no more the one that was looked at. */
function isRace(error: ApiError): boolean {
  const causes = error.body?.details?.causes ?? [];
  return error.status === 409 || (error.isInvalid && causes.some(({ field }) => field === "metadata.uid"));
}

function cannotGiveWay(conflicts: readonly Override[]): string {
  const [first] = conflicts;
  return `${first?.field} is ${first?.manager}'s, and cannot be left out of what is applied`;
}
