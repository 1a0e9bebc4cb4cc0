import { counted } from "../../base/counted.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import type { RolloutConditionType } from "../../crds/conditions.ts";
import { installedRelease } from "../../crds/kinds/installed-release.ts";
import type { Drift, Rollout } from "../../crds/kinds/rollout.ts";
import { MAX_API_ERROR, printableLine } from "../../crds/printable.ts";
import { stored } from "./rollout-progress.ts";
import { FINAL_STATES } from "./wish.ts";

/** What a release has installed, and what became of it since. */
export interface Installed {
  readonly releaseId: string | undefined;
  readonly version: string | undefined;
  readonly appliedAt: string | undefined;
  /** Name of the Rollout that brought it. */
  readonly rollout: string;
  /** Where its objects are, in the customer's order. */
  readonly namespaces: readonly string[];
  /** What others have changed of it, or deleted. */
  readonly drift: readonly Drift[];
  /** Why `drift` may not be all; undefined: the operator has compared everything. */
  readonly notCompared: string | undefined;
}

/** A workload that carries the deployment's label. */
export interface Member {
  readonly resourceId: string;
  /** Kind, namespace and name. */
  readonly name: string;
  readonly isUnhealthy: boolean;
  readonly replicas?: number | undefined;
  readonly ready?: number | undefined;
  readonly image?: string | undefined;
}

interface ContentHead {
  readonly spec: { readonly releaseId?: string; readonly version: string };
}

const MAX_NAMED = 10;
const MAX_REF = 320;
const MAX_FIELD = 256;
const MAX_MANAGER = 128;

/** @param rollouts of one deployment; what one that is under way replaces is installed until its end. */
export function installedOf(
  rollouts: readonly Rollout[],
  contentNamed: (name: string) => ContentHead | undefined,
): Installed | undefined {
  const found = installedRelease(rollouts.filter(({ status }) => FINAL_STATES.has(status?.state ?? "Planning")));
  if (found === undefined) return undefined;
  const { metadata, status } = found.rollout;
  const content = contentNamed(found.contentName)?.spec;
  return {
    releaseId: content?.releaseId,
    version: content?.version,
    appliedAt: status?.finishedAt,
    rollout: metadata.name,
    namespaces: status?.namespaces ?? [],
    drift: status?.drift ?? [],
    notCompared: notCompared(found.rollout),
  };
}

function notCompared({ status }: Rollout): string | undefined {
  const type: RolloutConditionType = "Compared";
  const compared = status?.conditions?.find((each) => each.type === type);
  if (compared?.status === "True") return undefined;
  return printableLine(compared?.message ?? "", MAX_API_ERROR) || "the operator has not compared what is installed yet";
}

/** For people: object, field and manager. */
export function driftLine({ ref, field, manager }: Drift): string {
  const object = printableLine(ref, MAX_REF);
  if (field === undefined) return `${object} is missing`;
  const by = manager === undefined ? "was removed" : `is ${printableLine(manager, MAX_MANAGER)}'s`;
  return `${object} ${printableLine(field, MAX_FIELD)} ${by}`;
}

/**
 * Why what is installed is not as it was released; undefined: it is.
 *
 * @param unhealthy names of workloads that have been unhealthy for long
 * @param tellsWords false: names are hidden, so only counts are told
 */
export function troubleOf(
  { drift }: Installed,
  unhealthy: readonly string[],
  tellsWords: boolean,
): StoredError | undefined {
  if (drift.length > 0) {
    const objects = new Set(drift.map(({ ref }) => ref)).size;
    const missing = drift.filter(({ field }) => field === undefined).length;
    const [first] = drift;
    const what = tellsWords && first !== undefined ? `: ${driftLine(first)}` : "";
    const named = drift.slice(0, MAX_NAMED).map(({ ref, field, manager }) => ({
      object: printableLine(ref, MAX_REF),
      ...(field !== undefined && { field: printableLine(field, MAX_FIELD) }),
      ...(manager !== undefined && { manager: printableLine(manager, MAX_MANAGER) }),
    }));
    const context = { objects, missing, ...(tellsWords && { drift: named }) };
    return stored("RESOURCE_DRIFT", `others have changed ${counted(objects, "object")} of the release${what}`, context);
  }
  if (unhealthy.length === 0) return undefined;
  const names = unhealthy.slice(0, MAX_NAMED).map((name) => printableLine(name, MAX_REF));
  const what = tellsWords ? `: ${names.join(", ")}` : "";
  return stored(
    "RESOURCE_UNHEALTHY",
    `unhealthy for ten minutes: ${counted(unhealthy.length, "workload")} of the release${what}`,
  );
}
