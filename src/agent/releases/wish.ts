import { createHash } from "node:crypto";
import type { DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import { FINAL_ROLLOUT_STATES, type Rollout, type RolloutAction } from "../../crds/kinds/rollout.ts";
import type { ReleaseRecord } from "./release-record.ts";

/** What the platform wants done in the cluster: at most one Rollout, whose name is made of `rolloutId`. */
export interface Wish {
  readonly rolloutId: string;
  readonly action: RolloutAction;
  /** Of an installation or update. */
  readonly releaseId: string | null;
  /** The platform's update operation; undefined: a setup or a deletion. */
  readonly operationId: string | undefined;
  readonly requestedAt: string | undefined;
}

const SETUP: ReadonlySet<DeploymentStatus> = new Set([
  "pending",
  "preflights-failed",
  "initial-setup",
  "initial-setup-failed",
  "provisioning",
  "provisioning-failed",
  "waiting-for-machines",
]);
const UPDATE: ReadonlySet<DeploymentStatus> = new Set([
  "update-pending",
  "updating",
  "update-failed",
  "waiting-for-machines",
]);
const DELETION: ReadonlySet<DeploymentStatus> = new Set(["delete-pending", "deleting", "delete-failed"]);

/**
 * The list that says what is wanted is on its way: nothing may be said or done before it. A deletion that only the answer
 * to a report has told of may be one that has to leave everything where it is.
 */
export function isUnknown({ status, desiredReleaseId, currentReleaseId, wanted }: ReleaseRecord): boolean {
  if (DELETION.has(status)) return wanted.deleteAction === undefined;
  const hasRelease = desiredReleaseId !== null || currentReleaseId !== null;
  const isWaiting = status === "waiting-for-machines" && currentReleaseId !== null;
  const isUpdate = status === "update-pending" || status === "updating" || isWaiting;
  return hasRelease && isUpdate && wanted.operation === undefined;
}

/** Statuses that a retry leaves, and where to (§24.4). */
export const RETRIES: Readonly<Partial<Record<DeploymentStatus, DeploymentStatus>>> = {
  "preflights-failed": "pending",
  "initial-setup-failed": "initial-setup",
  "provisioning-failed": "provisioning",
  "update-failed": "update-pending",
  "delete-failed": "deleting",
};

/** States from which a rollout goes nowhere. */
export const FINAL_STATES: ReadonlySet<string> = new Set(FINAL_ROLLOUT_STATES);

/**
 * The wish of this deployment, or undefined. The same wish has the same id in each process and after each restart; only
 * a retry, which a person asked for, makes it another.
 *
 * @param rollouts of this deployment.
 */
export function wishOf(record: ReleaseRecord, rollouts: readonly Rollout[]): Wish | undefined {
  const first = firstAttempt(record, rollouts);
  if (first === undefined) return undefined;
  const { status, wanted } = record;
  const told = attemptOf(wanted.told?.rolloutId, first.rolloutId);
  const made = rollouts.map(({ spec }) => attemptOf(spec.rolloutId, first.rolloutId));
  const last = Math.max(1, told, ...made);
  const attempt = (of: number): string => (of === 1 ? first.rolloutId : `${first.rolloutId}-${of}`);
  const wasTold = told === last || isBefore(attempt(last), wanted.told?.rolloutId, rollouts);
  const isAgain = wanted.told?.isOver === true && wasTold && RETRIES[status] === undefined;
  return { ...first, rolloutId: attempt(isAgain ? last + 1 : last) };
}

/**
 * Whether the rollout `one` was made before `other`: then its end was told before that of `other`. A setup goes back to a
 * release that it has tried already when that is promoted again after a later one has failed. One without a rollout here,
 * which could not be rendered, is not known to be later.
 */
function isBefore(one: string, other: string | undefined, rollouts: readonly Rollout[]): boolean {
  const madeAt = (id: string | undefined) =>
    Date.parse(rollouts.find(({ spec }) => spec.rolloutId === id)?.metadata.creationTimestamp ?? "");
  return madeAt(one) < madeAt(other);
}

function firstAttempt(record: ReleaseRecord, rollouts: readonly Rollout[]): Wish | undefined {
  const { id, status, desiredReleaseId, currentReleaseId, wanted } = record;
  const none = { operationId: undefined, requestedAt: undefined, releaseId: null };
  if (DELETION.has(status)) {
    if (wanted.deleteAction === undefined) return undefined;
    const action = wanted.deleteAction === "detach" ? ("detach" as const) : ("delete" as const);
    const wish: Wish = { ...none, rolloutId: `${action}-${id}`, action };
    return hasTouched(wish.rolloutId, record, rollouts) ? wish : undefined;
  }
  const action = currentReleaseId === null ? ("install" as const) : ("update" as const);
  const { operation } = wanted;
  if (UPDATE.has(status) && operation !== undefined) {
    const releaseId = operation.releaseId ?? desiredReleaseId ?? currentReleaseId;
    const { id: operationId, requestedAt } = operation;
    return releaseId === null ? undefined : { rolloutId: operationId, action, releaseId, operationId, requestedAt };
  }
  const releaseId = desiredReleaseId ?? currentReleaseId;
  if (!SETUP.has(status) || releaseId === null) return undefined;
  const rolloutId = `setup-${id}-${createHash("sha256").update(releaseId).digest("hex").slice(0, 8)}`;
  return { ...none, rolloutId, action, releaseId };
}

/**
 * The cluster has something to take away: what a rollout applied, or one that could still begin. What was installed by
 * hand is left to the person who did it.
 */
function hasTouched(deletionId: string, { wanted }: ReleaseRecord, rollouts: readonly Rollout[]): boolean {
  if (attemptOf(wanted.told?.rolloutId, deletionId) > 0) return true;
  return rollouts.some(({ spec, status }) => {
    if (attemptOf(spec.rolloutId, deletionId) > 0) return true;
    return status?.startedAt !== undefined || !FINAL_STATES.has(status?.state ?? "Planning");
  });
}

/** Which attempt of `first` this is, from 1; 0: of another wish. */
function attemptOf(rolloutId: string | undefined, first: string): number {
  if (rolloutId === first) return 1;
  if (rolloutId?.startsWith(`${first}-`) !== true) return 0;
  const rest = rolloutId.slice(first.length + 1);
  return /^[1-9][0-9]{0,5}$/.test(rest) ? Number(rest) : 0;
}
