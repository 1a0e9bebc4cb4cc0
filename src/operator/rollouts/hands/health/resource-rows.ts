import type { ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { printable } from "../../../../crds/printable.ts";
import { HEALTHS } from "../../../../kube/workload-state/words.ts";
import type { Intent, ResourceState } from "../hands.ts";
import type { ObjectState } from "./object-state.ts";

/** What is told of an object of a resource. */
export interface Row {
  readonly resourceId: string;
  /** Undefined: it is not there. */
  readonly state: ObjectState | undefined;
  /** Why the wave fails because of it. */
  readonly failure?: string | undefined;
}

/** Of a text in a rollout's status. */
export const MAX_MESSAGE = 512;

const WORST_FIRST = ["failed", "pending", "deleting", "provisioning", "updating", "running", "deleted"] as const;

/** One line a resource of the stack: the worst of its objects. */
export function resourceRows(seen: readonly Row[]): readonly ResourceState[] {
  const worst = new Map<string, ResourceState>();
  for (const each of seen) {
    const next = resourceState(each);
    const known = worst.get(each.resourceId);
    if (known === undefined || rank(next) < rank(known)) worst.set(each.resourceId, next);
  }
  return [...worst.values()];
}

/** A resource that has objects in a later wave does not run yet. */
export function withoutLater(
  rows: readonly ResourceState[],
  { rollout, objects }: Pick<Intent, "rollout" | "objects">,
  wave: number,
): readonly ResourceState[] {
  const isLater = (line: ReleaseObject): boolean => line.wave > wave;
  const unfinished = new Set(objects.filter(isLater).map(({ resourceId }) => resourceId));
  const state = rollout.spec.action === "install" ? "provisioning" : "updating";
  return rows.map((row) => (row.state === "running" && unfinished.has(row.resourceId) ? { ...row, state } : row));
}

function rank({ state, health }: ResourceState): number {
  return WORST_FIRST.indexOf(state as (typeof WORST_FIRST)[number]) * HEALTHS.length + HEALTHS.indexOf(health);
}

function resourceState({ resourceId, state, failure }: Row): ResourceState {
  if (failure !== undefined) {
    return { resourceId, state: "failed", health: "unhealthy", message: printable(failure, MAX_MESSAGE) };
  }
  if (state === undefined) return { resourceId, state: "pending", health: "unknown", message: "" };
  const { health, message = "" } = state;
  return { resourceId, state: wordOf(state), health, message: printable(message, MAX_MESSAGE) };
}

function wordOf({ lifecycle }: ObjectState): ResourceState["state"] {
  switch (lifecycle) {
    case "deleting":
    case "failed":
      return lifecycle;
    case "creating":
      return "provisioning";
    case "updating":
    case "scaling":
      return "updating";
    default:
      return "running";
  }
}
