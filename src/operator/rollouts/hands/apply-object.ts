import { isDeepStrictEqual } from "node:util";
import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { jobShape } from "../../../kube/projection/batch-shapes.ts";
import { Interner } from "../../../kube/projection/interner.ts";
import { isTrue } from "../../../kube/workload-state/state.ts";
import { conflictsOf, giveWay, type Override } from "../give-way.ts";
import { differences } from "./difference.ts";
import { isMember, type Membership } from "./membership.ts";
import { refusalText } from "./refusal-text.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";
import { markOf } from "./settled-objects.ts";

export interface Failure {
  readonly message: string;
  readonly isTemporary: boolean;
  /** What was thrown, if anything was. */
  readonly cause?: unknown;
}

export interface Outcome {
  readonly did: "created" | "changed" | "unchanged";
  readonly overrides: readonly Override[];
  /** Fields that are different now. */
  readonly fields: readonly string[];
  /** Of an object that has all of it already, also as its own. */
  readonly mark?: string;
}

export interface Wish {
  readonly resource: Resource;
  readonly manifest: ReleaseManifest;
  readonly isDryRun: boolean;
  /** The customer lets it take fields from their present managers. */
  readonly takesOver: boolean;
  /** It is left as it is where it is there. */
  readonly isFrozen: boolean;
  /** As a list has shown it. Undefined: it is taken to be missing, which the apply finds out. */
  readonly listed: LiveObject | undefined;
  /** A Job that has done its work: it is not made where it is not there. */
  readonly isDone: boolean;
  /** Since when the rollout changes things; undefined: it does not yet. */
  readonly startedAt: string | undefined;
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
      const seen = tries === 0 ? wish.listed : await api.get(wish.resource, manifest.metadata, signal);
      const refused = seen === undefined ? undefined : notToBeTouched(seen, membership, wish);
      if (refused !== undefined) return refused;
      if (seen === undefined ? wish.isDone : wish.isFrozen) return { did: "unchanged", overrides: [], fields: [] };
      if (seen !== undefined && isFailedJob(seen, wish)) return await runAgain(api, wish, seen, signal);
      const mode = { isDryRun: wish.isDryRun, force: wish.takesOver };
      const applied = await api.apply(wish.resource, manifest, seen, mode, signal);
      return outcomeOf(wish.manifest, seen, applied, overrides);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // It may be there after all, and not be ours: it is looked at before anything is said of it.
      if (tries === 0 && wish.listed === undefined && !error.isTransient) continue;
      const conflicts = conflictsOf(error);
      if (conflicts.length > 0) {
        const given = giveWay(manifest, conflicts);
        if (given === undefined) return { message: cannotGiveWay(conflicts), isTemporary: false };
        ({ manifest } = given);
        overrides.push(...given.overrides);
      } else if (!isRace(error)) {
        return { message: refusalText(error), isTemporary: error.isTransient, cause: error };
      }
    }
  }
  return { message: "others change it all the time", isTemporary: true };
}

/** One that an earlier rollout made: applied again it would stay as it is, and fail this rollout too. */
function isFailedJob(seen: LiveObject, { manifest, startedAt }: Wish): boolean {
  if (kindAndGroup(manifest) !== "Job.batch" || seen.metadata.deletionTimestamp !== undefined) return false;
  const { status } = jobShape.fromJson(seen, new Interner(1));
  const isOlder = startedAt === undefined || Date.parse(seen.metadata.creationTimestamp) < Date.parse(startedAt);
  return isOlder && isTrue(status.conditions, "Failed");
}

/** Deletes it, so that the next try makes it. A dry run tries what is made under another name. */
async function runAgain(
  api: ReleaseApi,
  { resource, manifest, isDryRun }: Wish,
  seen: LiveObject,
  signal: AbortSignal,
): Promise<Outcome | Failure> {
  if (!isDryRun) {
    await api.delete(resource, seen, signal);
    return { message: "the Job that failed before is deleted, and made again", isTemporary: true };
  }
  const name = `${manifest.metadata.name.slice(0, 55)}-again`;
  const other = { ...manifest, metadata: { ...manifest.metadata, name } };
  await api.apply(resource, other, undefined, { isDryRun, force: false }, signal);
  return { did: "changed", overrides: [], fields: [".status"] };
}

export const isFailure = (result: Outcome | Failure): result is Failure => "isTemporary" in result;

function notToBeTouched(seen: LiveObject, membership: Membership, { isDryRun }: Wish): Failure | undefined {
  if (!isMember(seen, membership)) {
    return {
      message: "NotOurs: an object of this name is there that this deployment has not made",
      isTemporary: false,
    };
  }
  // Applied to an object that goes, the release would be gone with it.
  if (seen.metadata.deletionTimestamp === undefined || isDryRun) return undefined;
  return { message: "the object of this name is being deleted", isTemporary: true };
}

function outcomeOf(
  manifest: ReleaseManifest,
  seen: LiveObject | undefined,
  applied: LiveObject,
  overrides: readonly Override[],
): Outcome {
  if (seen === undefined || seen.metadata.deletionTimestamp !== undefined) {
    return { did: "created", overrides, fields: [] };
  }
  const fields = differences(seen, applied);
  if (fields.length > 0) return { did: "changed", overrides, fields };
  const isOwned = isDeepStrictEqual(seen.metadata.managedFields, applied.metadata.managedFields);
  const isWhole = overrides.length === 0 && isOwned;
  return { did: "unchanged", overrides, fields, ...(isWhole && { mark: markOf(manifest, seen) }) };
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
