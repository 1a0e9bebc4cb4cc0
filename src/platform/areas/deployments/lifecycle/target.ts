import type {
  DeploymentStatus,
  UpdateOperation,
  UpdateState,
} from "../../../../contract/deployments/deployment-state.ts";
import { nextStatus } from "./status.ts";

/** The columns of a deployment that a new target changes. */
export interface Targeted {
  readonly status: DeploymentStatus;
  readonly current_release_id: string | null;
  readonly desired_release_id: string | null;
  readonly update_state: UpdateState | null;
}

/** What a caller wants: another release (`releaseId`), or the same one with other settings. */
export interface Wish {
  readonly operationId: string;
  readonly reason: UpdateOperation["reasons"][number];
  /** Undefined: the release that is desired already. Null: no release. */
  readonly releaseId?: string | null;
  readonly changedKeys?: readonly string[];
  readonly at: Date;
}

export interface Retargeted extends Targeted {
  /** Null when nothing has to run, because the deployment has not started yet. */
  readonly operation: UpdateOperation | null;
}

/** The setup, or its retry, applies what is wanted then: a mended release must not wait for the broken one to run. */
const NOT_STARTED: readonly DeploymentStatus[] = [
  "pending",
  "preflights-failed",
  "initial-setup",
  "initial-setup-failed",
  "provisioning-failed",
];
/** Other work must end before a new target is applied. */
const BUSY: readonly DeploymentStatus[] = ["updating", "provisioning", "waiting-for-machines"];
const IDLE: UpdateState = { active: null, next: null, latest: null };

/**
 * Implements §24.5. Undefined when the deployment is being deleted or has failed for good: it accepts no new target.
 */
export function retarget(now: Targeted, wish: Wish): Retargeted | undefined {
  if (NOT_STARTED.includes(now.status)) {
    const setup = intoSetup(now, wish.at);
    const { releaseId = setup.desired_release_id } = wish;
    return { ...setup, desired_release_id: releaseId === now.current_release_id ? null : releaseId, operation: null };
  }
  const release = wish.releaseId === undefined ? now.desired_release_id : wish.releaseId;
  const desired = release === now.current_release_id ? null : release;
  const operation = operationOf(wish, release ?? now.current_release_id);
  const state = now.update_state ?? IDLE;
  if (BUSY.includes(now.status)) {
    const update_state = {
      ...state,
      next: merged(operation, state.next),
      latest: superseded(state.next, wish) ?? state.latest,
    };
    return { ...now, update_state, operation };
  }
  const status = now.status === "update-pending" ? now.status : nextStatus(now.status, { by: "target" });
  if (status === undefined) return undefined;
  return {
    ...now,
    status,
    desired_release_id: desired,
    update_state: {
      active: merged(operation, state.active),
      next: null,
      latest: superseded(state.active, wish) ?? state.latest,
    },
    operation,
  };
}

/** Updates the operation when the status changes. Called for every change, with the new status. */
export function advance(now: Targeted, to: DeploymentStatus, at: Date): Targeted {
  const state = now.update_state;
  const { active, next } = state ?? IDLE;
  const time = at.toISOString();
  if (state === null) return { ...now, status: to };
  if (to === "updating" && active?.status === "queued") {
    return {
      ...now,
      status: to,
      update_state: { ...state, active: { ...active, status: "applying", startedAt: time } },
    };
  }
  if (to === "update-pending" && active === null && state.latest?.status === "failed") {
    // A retry repeats the failed operation.
    const again: UpdateOperation = { ...state.latest, status: "queued", startedAt: null, completedAt: null };
    return { ...now, status: to, update_state: { ...state, active: again } };
  }
  if (next !== null && NOT_STARTED.includes(to)) return { ...intoSetup(now, at), status: to };
  if (to !== "running" && to !== "update-failed") return { ...now, status: to };
  const outcome = to === "running" ? "succeeded" : "failed";
  const latest: UpdateOperation | null =
    active === null
      ? state.latest
      : { ...active, status: outcome, startedAt: active.startedAt ?? time, completedAt: time };
  if (next === null) return { ...now, status: to, update_state: { active: null, next: null, latest } };
  return {
    ...now,
    status: "update-pending",
    desired_release_id: desiredBy(next, now),
    update_state: { active: next, next: null, latest },
  };
}

/** A setup has no operation: it takes over what waits for one. */
function intoSetup(now: Targeted, at: Date): Targeted {
  const { active, next } = now.update_state ?? IDLE;
  const latest = superseded(next ?? active, { at });
  if (latest === null) return now;
  return {
    ...now,
    desired_release_id: next === null ? now.desired_release_id : desiredBy(next, now),
    update_state: { active: null, next: null, latest },
  };
}

function desiredBy({ reasons, targetReleaseId }: UpdateOperation, now: Targeted): string | null {
  const release = reasons.includes("release") ? (targetReleaseId ?? null) : now.desired_release_id;
  return release === now.current_release_id ? null : release;
}

function operationOf(wish: Wish, targetReleaseId: string | null): UpdateOperation {
  return {
    id: wish.operationId,
    status: "queued",
    reasons: [wish.reason],
    ...(targetReleaseId !== null && { targetReleaseId }),
    changedKeys: [...(wish.changedKeys ?? [])],
    requestedAt: wish.at.toISOString(),
    startedAt: null,
    completedAt: null,
  };
}

/** A new operation takes over the reasons of the one that it replaces, whose configuration is still to be applied. */
function merged(operation: UpdateOperation, replaced: UpdateOperation | null): UpdateOperation {
  if (replaced === null) return operation;
  const { targetReleaseId } = operation.reasons.includes("release") ? operation : replaced;
  const { targetReleaseId: _, ...own } = operation;
  return {
    ...own,
    reasons: [...new Set([...replaced.reasons, ...operation.reasons])],
    changedKeys: [...new Set([...replaced.changedKeys, ...operation.changedKeys])],
    ...(targetReleaseId != null && { targetReleaseId }),
  };
}

function superseded(operation: UpdateOperation | null, wish: Pick<Wish, "at">): UpdateOperation | null {
  return operation === null ? null : { ...operation, status: "superseded", completedAt: wish.at.toISOString() };
}
