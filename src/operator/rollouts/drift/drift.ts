import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { type Drift, MAX_DRIFT } from "../../../crds/kinds/rollout.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import { refOf } from "../release-rules.ts";
import { type FieldOwner, lostFields } from "./field-owners.ts";

/**
 * What is known of an object: who owns its fields, and where the release owns some no more, their values; that it is not
 * there; or nothing, because it may not be read.
 */
export type MemberLook =
  | { readonly managedFields: readonly FieldOwner[]; readonly live?: object | undefined }
  | "missing"
  | "unreadable";

/** A field that the customer keeps from the release: the rollout has given way to it. */
interface GivenField {
  readonly ref: string;
  readonly field: string;
}

/**
 * What of these objects is not as the release has applied it. Pure. What the rollout has given way to is no drift, and
 * neither are fields of frozen objects, which a later release leaves as they are whatever it says of them.
 *
 * @param given what the status of the rollout lists; as long as it can be, and more fields may have been given way to
 */
export function driftOf(
  objects: readonly ReleaseObject[],
  lookOf: (ref: string) => MemberLook,
  given: readonly GivenField[],
): readonly Drift[] {
  const found: Drift[] = [];
  for (const { manifest, frozen } of objects) {
    const ref = refOf(manifest);
    const look = lookOf(ref);
    if (look === "unreadable") continue;
    if (look === "missing") {
      // A Job that has done its work may be cleared away.
      if (kindAndGroup(manifest) !== "Job.batch") found.push({ ref });
      continue;
    }
    if (frozen || given.length >= MAX_DRIFT) continue;
    const lost = lostFields(manifest, look.managedFields, look.live).filter(({ field }) => !isGiven(ref, field, given));
    found.push(...lost.map(({ field, manager }) => ({ ref, field, ...(manager !== undefined && { manager }) })));
  }
  return found.slice(0, MAX_DRIFT);
}

function isGiven(ref: string, field: string, given: readonly GivenField[]): boolean {
  return given.some(
    (each) => each.ref === ref && (each.field === field || isBelow(each.field, field) || isBelow(field, each.field)),
  );
}

function isBelow(field: string, other: string): boolean {
  return field.startsWith(other) && (field[other.length] === "." || field[other.length] === "[");
}
