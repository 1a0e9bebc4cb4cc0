import {
  FINAL_ROLLOUT_STATES,
  type Rollout,
  type RolloutState,
  type RolloutStatus,
} from "../../../crds/kinds/rollout.ts";
import { lineWithoutCommands } from "../../../crds/printable.ts";
import { type Condition, timestamp, withCondition } from "../../../kube/objects/conditions.ts";
import type { Fields, Said } from "./rollout-step.ts";

const MAX_MESSAGE = 1_024;

/** The schema's bounds of what the cluster may have a say in. */
const MAX_LISTED = 50;
const MAX_CHANGES = 100;
const MAX_RESOURCES = 300;

/** Takes out what looks like a secret. */
export type Redact = (text: string) => string;

/** The status with these conditions and fields. Texts may quote the cluster: they are redacted and bounded here, and only here. */
export function statusAs(
  rollout: Rollout,
  state: RolloutState,
  said: readonly Said[],
  fields: Fields,
  redact: Redact,
  now: Date,
): RolloutStatus {
  const observedGeneration = rollout.metadata.generation ?? 0;
  let conditions = (rollout.status?.conditions ?? []) as readonly Condition[];
  for (const [type, status, reason, text] of said) {
    const message = line(text, MAX_MESSAGE, redact);
    conditions = withCondition(conditions, { type, status, reason, message, observedGeneration }, now);
  }
  const isFinal = FINAL_ROLLOUT_STATES.some((final) => final === state);
  // What was Unknown when it ended stays so for ever: it would be read as if it were still waited for.
  if (isFinal) conditions = conditions.filter((each) => each.status !== "Unknown");
  const all: Fields = {
    ...rollout.status,
    ...told(fields, redact),
    ...(isFinal && { finishedAt: timestamp(now), approvalLine: undefined }),
    ...{ state, observedGeneration, conditions: conditions.map((each) => ({ ...each })) },
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as RolloutStatus;
}

function told({ plan, resources, ...fields }: Fields, redact: Redact): Fields {
  const text = (given: string, max: number): string => line(given, max, redact);
  return {
    ...fields,
    ...(plan && {
      plan: {
        ...plan,
        // Each list is written even if it is empty: a merge leaves one that is left out as it was.
        recreate: (plan.recreate ?? []).map((ref) => text(ref, 320)),
        changes: (plan.changes ?? []).slice(0, MAX_CHANGES).map((each) => text(each, 400)),
        overrides: (plan.overrides ?? []).slice(0, MAX_LISTED).map(({ ref, field, manager }) => ({
          ref: text(ref, 320),
          field: text(field, 256),
          manager: text(manager, 128),
        })),
        refused: (plan.refused ?? [])
          .slice(0, MAX_LISTED)
          .map(({ ref, message }) => ({ ref: text(ref, 320), message: text(message, 512) })),
      },
    }),
    ...(resources && {
      resources: resources.slice(0, MAX_RESOURCES).map((each) => ({ ...each, message: text(each.message, 512) })),
    }),
  };
}

function line(text: string, max: number, redact: Redact): string {
  return lineWithoutCommands(redact(text.slice(0, 16 * max)), max);
}
