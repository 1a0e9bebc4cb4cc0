import { randomUUID } from "node:crypto";
import { isRecord } from "../../../base/is-record.ts";
import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { jobShape } from "../../../kube/projection/batch-shapes.ts";
import { Interner } from "../../../kube/projection/interner.ts";
import { isTrue } from "../../../kube/workload-state/state.ts";
import { conflictsOf, giveWay, type Override } from "../give-way.ts";
import { isAsWished } from "./fields/as-wished.ts";
import { differences } from "./fields/difference.ts";
import { interruptionOf } from "./fields/interruption.ts";
import { fieldsOfClientAlone, hasReplicas, inPlaceOfClient, isOfReleaseAlone } from "./fields/managed-fields.ts";
import { isApplied, isMember, type Membership, unfit, whoseElse } from "./membership.ts";
import { refusalText } from "./refusal-text.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";

export interface Failure {
  readonly message: string;
  readonly isTemporary: boolean;
  /** What was thrown, if anything was. */
  readonly cause?: unknown;
  /** The customer can end it, by takeOver or by deleting the object: the plan waits for that. */
  readonly isAdoptable?: boolean;
}

export interface Outcome {
  /** `recreates`: of a dry run; it is deleted first, and made by a later try. */
  readonly did: "created" | "changed" | "unchanged" | "recreates";
  readonly overrides: readonly Override[];
  /** Fields that are different now. */
  readonly fields: readonly string[];
  /** Its pods are not replaced one by one: what a plan says of that, around its name. */
  readonly interruption?: (ref: string) => string;
  /** It was the customer's, who has let the release have it: with what the release has applied to it. */
  readonly adopted?: LiveObject;
}

export interface Wish {
  readonly resource: Resource;
  readonly manifest: ReleaseManifest;
  readonly isDryRun: boolean;
  /** The customer lets it take the object, or fields of it, from those that have them. */
  readonly takesOver: boolean;
  /** It is left as it is where it is there. */
  readonly isFrozen: boolean;
  /** An earlier rollout has brought it: others may have taken each of its fields since. */
  readonly wasInstalled: boolean;
  /** As a list has shown it. Undefined: it is taken to be missing, which the apply finds out. */
  readonly listed: LiveObject | undefined;
  /** A Job that has done its work: it is not made where it is not there. */
  readonly isDone: boolean;
  /** An autoscaler of the release has its number of copies: it goes on from the one that is there. */
  readonly keepsReplicas: boolean;
  /** The customer lets releases delete an object of theirs and make it again, where a field of it cannot be changed. */
  readonly recreates: boolean;
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
  let lasting: readonly string[] | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      const seen = tries === 0 ? wish.listed : await api.get(wish.resource, manifest.metadata, signal);
      const refused = seen === undefined ? undefined : notToBeTouched(seen, membership, wish);
      if (refused !== undefined) return refused;
      const isAdopted = seen !== undefined && !isApplied(seen) && !wish.wasInstalled;
      const isSettled = seen === undefined ? wish.isDone : wish.isFrozen && !isAdopted;
      if (isSettled) return { did: "unchanged", overrides: [], fields: [] };
      if (seen !== undefined && isFailedJob(seen, wish)) return await madeAnew(api, wish, seen, FAILED_JOB, signal);
      if (seen !== undefined && lasting !== undefined && !isAdopted && mayBeMadeAnew(seen, wish)) {
        return await madeAnew(api, wish, seen, { did: "recreates", fields: lasting, why: CANNOT_CHANGE }, signal);
      }
      if (seen !== undefined && isSeenAsWished(seen, manifest, wish))
        return { did: "unchanged", overrides, fields: [] };
      const applied = await applyTo(api, manifest, seen, wish, signal);
      return { ...outcomeOf(seen, applied, overrides, wish), ...(isAdopted && { adopted: applied }) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // It may be there after all, and not be ours: it is looked at before anything is said of it.
      if (tries === 0 && wish.listed === undefined && !error.isTransient) continue;
      // The autoscaler has written the number since the look: the next one finds it no more the release's.
      const conflicts = conflictsOf(error).filter(({ field }) => !isKept(field, wish));
      if (conflicts.length > 0) {
        const given = giveWay(manifest, conflicts);
        if (given === undefined) return { message: cannotGiveWay(conflicts), isTemporary: false };
        ({ manifest } = given);
        overrides.push(...given.overrides);
      } else if (lasting === undefined && wish.recreates && !wish.takesOver && isOfLastingFields(error)) {
        lasting = fieldsOf(error);
      } else if (!isRace(error)) {
        return { message: refusalText(error), isTemporary: error.isTransient && !isMistyped(error), cause: error };
      }
    }
  }
  return { message: "others change it all the time", isTemporary: true };
}

function isSeenAsWished(seen: LiveObject, manifest: ReleaseManifest, { takesOver }: Wish): boolean {
  return !takesOver && seen.metadata.deletionTimestamp === undefined && isAsWished(manifest, seen);
}

/** One that an earlier rollout made: applied again it would stay as it is, and fail this rollout too. */
function isFailedJob(seen: LiveObject, { manifest, startedAt }: Wish): boolean {
  if (kindAndGroup(manifest) !== "Job.batch" || seen.metadata.deletionTimestamp !== undefined) return false;
  const { status } = jobShape.fromJson(seen, new Interner(1));
  const isOlder = startedAt === undefined || Date.parse(seen.metadata.creationTimestamp) < Date.parse(startedAt);
  return isOlder && isTrue(status.conditions, "Failed");
}

const FAILED_JOB = { did: "changed", fields: [".status"], why: "the Job that failed before" } as const;
const CANNOT_CHANGE = "what cannot be changed";

/**
 * What holds data is not: the claims of a StatefulSet stay, and another one of its name would take them with other fields.
 * Neither is an object in which others own fields: those would be lost, and with `kubectl scale` or an autoscaler its copies.
 */
function mayBeMadeAnew(seen: LiveObject, { manifest }: Wish): boolean {
  const kind = kindAndGroup(manifest);
  const hasClaims = [seen.spec, manifest.spec].some(
    (spec) => isRecord(spec) && Array.isArray(spec.volumeClaimTemplates) && spec.volumeClaimTemplates.length > 0,
  );
  const holdsData = kind === "PersistentVolumeClaim" || (kind === "StatefulSet.apps" && hasClaims);
  return !holdsData && isOfReleaseAlone(seen.metadata.managedFields ?? []);
}

const LASTING = /field is immutable|may not change once set|updates to statefulset spec for fields other than/;

/** All that the API server has against it are fields that no update changes. */
function isOfLastingFields(error: ApiError): boolean {
  const causes = error.body?.details?.causes ?? [];
  return error.isInvalid && causes.length > 0 && causes.every(({ message = "" }) => LASTING.test(message));
}

function fieldsOf({ body }: ApiError): readonly string[] {
  return [...new Set((body?.details?.causes ?? []).flatMap(({ field }) => (field === undefined ? [] : [`.${field}`])))];
}

/**
 * Deletes it, so that the next try makes it. A dry run tries what is made under another name, by chance: one that could be
 * foretold may be the name of a Job of the customer, or be taken to hold every plan up.
 */
async function madeAnew(
  api: ReleaseApi,
  { resource, manifest, isDryRun }: Wish,
  seen: LiveObject,
  { did, fields, why }: Pick<Outcome, "did" | "fields"> & { readonly why: string },
  signal: AbortSignal,
): Promise<Outcome | Failure> {
  if (!isDryRun) {
    await api.delete(resource, seen, signal);
    return { message: `${why} is deleted, and made again`, isTemporary: true };
  }
  await api.deleteNamed(resource, seen.metadata, signal, { isDryRun });
  const name = `${manifest.metadata.name.slice(0, 54).replaceAll(".", "-")}-${randomUUID().slice(0, 8)}`;
  const other = { ...manifest, metadata: { ...manifest.metadata, name } };
  await api.apply(resource, other, undefined, { isDryRun, force: false }, signal);
  return { did, overrides: [], fields };
}

export const isFailure = (result: Outcome | Failure): result is Failure => "isTemporary" in result;

function notToBeTouched(seen: LiveObject, membership: Membership, wish: Wish): Failure | undefined {
  const foreign = whyNotOurs(seen, membership, wish);
  if (foreign !== undefined) return { isTemporary: false, ...foreign };
  // Applied to an object that goes, the release would be gone with it.
  if (seen.metadata.deletionTimestamp === undefined || wish.isDryRun) return undefined;
  return { message: "the object of this name is being deleted", isTemporary: true };
}

/**
 * The labels are the word of a person who may write the object, and the API server holds the rollout's account to them; without
 * the other word the way back would delete what was the customer's.
 */
function whyNotOurs(
  seen: LiveObject,
  membership: Membership,
  wish: Wish,
): Pick<Failure, "message" | "isAdoptable"> | undefined {
  const notOurs = "NotOurs: an object of this name is there that this deployment has not made";
  const isLabelled = isMember(seen, membership);
  if (isLabelled && (wish.wasInstalled || wish.takesOver || isApplied(seen))) return undefined;
  const other = isLabelled ? undefined : whoseElse(seen, membership);
  if (other !== undefined) return { message: `${notOurs}: ${other}` };
  const labels = Object.entries(membership).map(([label, value]) => `${label}=${value}`);
  const how = isLabelled
    ? "it has the labels, and spec.takeOver may name it"
    : `it may be labelled ${labels.join(" ")} and named in spec.takeOver`;
  // It waits also for the deletion of what cannot be taken over.
  return { message: `${notOurs}; ${unfit(seen, wish.manifest) ?? how}`, isAdoptable: true };
}

async function applyTo(
  api: ReleaseApi,
  manifest: ReleaseManifest,
  seen: LiveObject | undefined,
  { resource, isDryRun, takesOver, keepsReplicas }: Wish,
  signal: AbortSignal,
): Promise<LiveObject> {
  const mode = { isDryRun, force: takesOver };
  const asScaled = (live: LiveObject | undefined): ReleaseManifest =>
    keepsReplicas && live !== undefined ? withReplicas(manifest, live) : manifest;
  const applied = await api.apply(resource, asScaled(seen), seen, mode, signal);
  const managedFields = takesOver ? inPlaceOfClient(applied.metadata.managedFields ?? []) : undefined;
  // A dry run could not show it: the second request would not see the first.
  if (managedFields === undefined || isDryRun) return applied;
  // What the customer's file has set is the release's from now on, which removes what it does not have.
  const { resourceVersion } = applied.metadata;
  const version = { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion } as const;
  const fields = { op: "replace", path: "/metadata/managedFields", value: managedFields } as const;
  const taken = await api.patch(resource, applied.metadata, [version, fields], signal);
  return api.apply(resource, asScaled(taken), taken, mode, signal);
}

const isKept = (field: string, { keepsReplicas }: Wish): boolean => keepsReplicas && field === ".spec.replicas";

/**
 * With the number of copies that the release itself has set before: left out, the API server would fall back to one at
 * once. It is the release's until the autoscaler writes another, and the autoscaler's from then on. A workload of no
 * copies is none that an autoscaler scales.
 */
function withReplicas(manifest: ReleaseManifest, { spec, metadata }: LiveObject): ReleaseManifest {
  const replicas = isRecord(spec) ? Number(spec.replicas) : 0;
  if (!(replicas > 1) || !hasReplicas(metadata.managedFields ?? [])) return manifest;
  return { ...manifest, spec: { ...(manifest.spec as object), replicas } };
}

function outcomeOf(
  seen: LiveObject | undefined,
  applied: LiveObject,
  overrides: readonly Override[],
  wish: Wish,
): Outcome {
  const isMade = seen === undefined || seen.metadata.deletionTimestamp !== undefined;
  const interruption = interruptionOf(isMade ? undefined : seen, applied);
  if (isMade) return { did: "created", overrides, fields: [], ...(interruption && { interruption }) };
  // Of a dry run: the file's entry is still there, and what only it has is going to be removed.
  const left = wish.takesOver ? fieldsOfClientAlone(applied.metadata.managedFields ?? []) : [];
  const going = left.filter((field) => !isKept(field, wish));
  const fields = [...new Set([...going, ...differences(seen, applied)])];
  if (fields.length > 0) {
    return { did: "changed", overrides, fields, ...(interruption && { interruption }) };
  }
  return { did: "unchanged", overrides, fields };
}

/** A field has another type than its kind's: the API server says 500, and would say the same again. */
function isMistyped(error: ApiError): boolean {
  return error.status === 500 && error.message.includes("failed to create typed patch object");
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
