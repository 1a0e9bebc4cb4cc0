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

/** What the status of rollouts has on record. */
export interface OnRecord {
  /** Undefined: there are more fields of others than a status lists, so that no field can be judged. */
  readonly given: readonly GivenField[] | undefined;
  readonly drift: readonly Drift[];
  /** A line as a status has it: without secrets and commands, and cut. */
  readonly stored: (line: Drift) => Drift;
}

export interface Comparison {
  readonly drift: readonly Drift[];
  /** References of objects that could not be looked at; what is on record of them stays. */
  readonly unseen: readonly string[];
}

/**
 * What of these objects is not as the release has applied it. Pure. What the rollout has given way to is no drift, and
 * neither are fields of frozen objects, which a later release leaves as they are, also where it has others.
 */
export function driftOf(
  objects: readonly ReleaseObject[],
  lookOf: (ref: string) => MemberLook,
  { given, drift: before, stored }: OnRecord,
): Comparison {
  const found: Drift[] = [];
  const unseen: string[] = [];
  for (const { manifest, frozen } of objects) {
    const ref = refOf(manifest);
    const look = lookOf(ref);
    if (look === "unreadable") {
      const { ref: known } = stored({ ref });
      unseen.push(known);
      found.push(...before.filter((each) => each.ref === known));
    } else if (look === "missing") {
      // A Job that has done its work may be cleared away.
      if (kindAndGroup(manifest) !== "Job.batch") found.push(stored({ ref }));
    } else if (!frozen && given !== undefined) {
      for (const { field, manager } of lostFields(manifest, look.managedFields, look.live)) {
        const line = stored({ ref, field, ...(manager !== undefined && { manager }) });
        if (!isGiven(line, given)) found.push(line);
      }
    }
  }
  return { drift: found.slice(0, MAX_DRIFT), unseen };
}

/** Both as they are stored: one that holds a command has lost its quotes. */
function isGiven({ ref, field = "" }: Drift, given: readonly GivenField[]): boolean {
  const path = unquoted(field);
  return given.some((each) => {
    const other = unquoted(each.field);
    return each.ref === ref && (other === path || isBelow(other, path) || isBelow(path, other));
  });
}

function unquoted(field: string): string {
  return field.replace(/["']/g, "");
}

function isBelow(field: string, other: string): boolean {
  return field.startsWith(other) && (field[other.length] === "." || field[other.length] === "[");
}
