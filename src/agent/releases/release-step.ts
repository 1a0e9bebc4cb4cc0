import type { DeploymentState, DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import type { ProgressEvent } from "../../contract/deployments/sync.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import type { Member } from "./installed.ts";
import { type ReleaseRecord, toldAs } from "./release-record.ts";
import {
  afterAnother,
  failureOf,
  goneError,
  leftError,
  machinesError,
  nodeNeedOf,
  rolloutError,
  type Stage,
  stageOf,
  stored,
  waitError,
} from "./rollout-progress.ts";
import { type StackNames, stackStateOf } from "./stack-state.ts";
import { isUnknown, RETRIES, type Wish, wishOf } from "./wish.ts";

/** The release that the platform's last answer asks for; the answer's configuration is not kept. */
export interface TargetRelease {
  readonly releaseId: string | null;
}

/** Why a wish has no rollout; only in this process, until the platform knows it. */
export interface Note {
  readonly rolloutId: string;
  readonly error: StoredError;
  /** False: it waits, and is tried again. */
  readonly isFinal: boolean;
}

/** All that is known of the releases of one deployment. */
export interface ReleaseFacts {
  readonly record: ReleaseRecord;
  /** This process holds the deployment's lease. */
  readonly isLeased: boolean;
  /** Of this deployment, from the cache. */
  readonly rollouts: readonly Rollout[];
  /** Of the answer to a report, right after it; otherwise undefined. */
  readonly target: TargetRelease | undefined;
  readonly note: Note | undefined;
  /** Of the wanted release; undefined: not known yet. */
  readonly stack: StackNames | undefined;
  /** The release of a rollout's content; undefined: it has none, or the content is not there. */
  readonly releaseOf: (rollout: Rollout) => string | undefined;
  /** Why what is installed is not as it was released; undefined: it is, or nothing is. */
  readonly trouble: StoredError | undefined;
  /** Workloads of the deployment's releases. */
  readonly members: readonly Member[];
  /** The customer lets machines join for this deployment: what fits on no node may wait for one. */
  readonly offersMachines: boolean;
  /** Names are told as they are. */
  readonly tellsWords: boolean;
}

export interface ReleaseReport {
  readonly state: Pick<DeploymentState, "status" | "error" | "currentRelease" | "stackState" | "runtimeMetadata">;
  /** The update that the state is about; null: none. */
  readonly operationId: string | null;
  readonly progress: readonly Omit<ProgressEvent, "at">[];
}

export type ReleaseStep =
  /** No release is wanted here: reported as without a runner. */
  | { readonly do: "observe" }
  | { readonly do: "report"; readonly report: ReleaseReport }
  /** Makes the content, where the wish has one, and the rollout. */
  | { readonly do: "create"; readonly wish: Wish };

/**
 * What has to happen next for the release of this deployment. Pure.
 *
 * The promises: something is made only under the lease, for the very release that the platform's answer names, and once
 * for each wish; nothing that was made is changed. A status is reported only as its rollout has brought it about, one
 * step at a time.
 */
export function nextReleaseStep(facts: ReleaseFacts): ReleaseStep {
  const { record, rollouts, target, isLeased, note } = facts;
  const wish = wishOf(record, rollouts);
  if (wish === undefined) return withoutWish(facts);
  const rollout = rollouts.find(({ spec }) => spec.rolloutId === wish.rolloutId);
  const stage = stageFor(wish, rollout, facts);
  const isAsked = wish.releaseId === null || target?.releaseId === wish.releaseId;
  const isRefused = note?.rolloutId === wish.rolloutId && note.isFinal;
  if (stage === "none" && target !== undefined && isLeased && isAsked && !isRefused && !isOver(record)) {
    return { do: "create", wish };
  }
  return { do: "report", report: reportOf(facts, wish, rollout, stage) };
}

/** In words that change with each report that should not wait. */
export function newsOf(record: ReleaseRecord, step: ReleaseStep, rollouts: readonly Rollout[]): string {
  if (step.do !== "report") return step.do;
  const { state, operationId } = step.report;
  const waves = rollouts.map(({ metadata, status }) => `${metadata.name} ${status?.state} ${status?.wave}`);
  // A wish that only the list has made known changes no status: its rollout is made by the answer to a report.
  const wish = wishOf(record, rollouts)?.rolloutId;
  return JSON.stringify([state.status, state.error?.code, operationId, wish, waves]);
}

/** Statuses of what is installed and wanted as it is. */
const AT_REST: ReadonlySet<DeploymentStatus> = new Set(["running", "refresh-failed"]);

function withoutWish({ record, isLeased, trouble }: ReleaseFacts): ReleaseStep {
  const { status, wanted } = record;
  const again = wanted.retryRequested && isLeased ? RETRIES[status] : undefined;
  if (again !== undefined) return report({ status: again });
  // What is left stays told for as long as a person has to take it away.
  if (status === "teardown-required" && wanted.error) return report({ status, error: wanted.error });
  if (AT_REST.has(status) && trouble !== undefined) return report({ status: "refresh-failed", error: trouble });
  if (isUnknown(record)) return report({ status, ...(isOver(record) && wanted.error && { error: wanted.error }) });
  if (status !== "update-pending") return { do: "observe" };
  return report({ status, error: stored("NO_RELEASE", "there is no release that the change could be applied with") });
}

function report(state: ReleaseReport["state"]): ReleaseStep {
  return { do: "report", report: { state, operationId: null, progress: [] } };
}

function stageFor(wish: Wish, rollout: Rollout | undefined, facts: ReleaseFacts): Stage {
  const { record, note } = facts;
  // Also where a rollout of its name is there: that only ends the one before.
  if (note?.rolloutId === wish.rolloutId && note.isFinal) return "failed";
  if (rollout !== undefined) return isOfAnother(wish, rollout, facts) ? "failed" : stageOf(rollout);
  return record.wanted.told?.rolloutId === wish.rolloutId ? "gone" : "none";
}

/** What has the wish's name installs something else: its success would be told as that of the wished release. */
function isOfAnother({ releaseId }: Wish, rollout: Rollout, { releaseOf }: ReleaseFacts): boolean {
  const found = releaseId === null ? undefined : releaseOf(rollout);
  return found !== undefined && found !== releaseId;
}

/** A failure that waits for a person. */
function isOver({ status }: Pick<ReleaseRecord, "status">): boolean {
  return RETRIES[status] !== undefined;
}

function reportOf(facts: ReleaseFacts, wish: Wish, rollout: Rollout | undefined, stage: Stage): ReleaseReport {
  const { record, isLeased, stack, members, offersMachines, tellsWords } = facts;
  const status = isLeased ? nextStatus(record, wish, stage, rollout, offersMachines) : record.status;
  const error = saysWhy(status, stage) ? errorOf(facts, wish, rollout, status) : undefined;
  const isEnd = ENDS.has(status) || isOver({ status }) || isOver(record);
  const rolloutId = stage === "none" ? undefined : wish.rolloutId;
  const isKnown = isLeased && rollout !== undefined && stack !== undefined;
  const stackState = isKnown ? stackStateOf(record.id, wish.action, rollout, stack, members, tellsWords) : undefined;
  const isInstalled = status === "running" && wish.releaseId !== null;
  return {
    state: {
      status,
      ...(error !== undefined && { error }),
      ...(isInstalled && { currentRelease: { releaseId: wish.releaseId, version: stack?.version ?? null } }),
      ...(stackState !== undefined && { stackState }),
      ...(isLeased && rolloutId !== undefined && { runtimeMetadata: toldAs({ rolloutId, isOver: isEnd }) }),
    },
    operationId: wish.operationId ?? null,
    progress: isLeased ? progressOf(record.status, status, wish, error) : [],
  };
}

/** A step on the way to an end that has come already needs no word; a failure keeps its own as long as it lasts. */
function saysWhy(status: DeploymentStatus, stage: Stage): boolean {
  if (stage === "failed" || stage === "gone") return RETRIES[status] !== undefined;
  return stage !== "done" || status === "teardown-required";
}

/** A report without the error of a failure would have the platform forget it. */
function errorOf(
  facts: ReleaseFacts,
  wish: Wish,
  rollout: Rollout | undefined,
  status: DeploymentStatus,
): StoredError | undefined {
  const { record, note, tellsWords } = facts;
  const { wanted } = record;
  if (status === record.status && isOver(record) && wanted.error !== undefined) return wanted.error;
  if (note?.rolloutId === wish.rolloutId) return note.error;
  if (rollout === undefined) {
    if (wanted.told?.rolloutId !== wish.rolloutId) return undefined;
    return afterAnother(goneError(wish.action, WORKING.has(record.status)), wish, facts.rollouts);
  }
  if (isOfAnother(wish, rollout, facts)) {
    return stored(failureOf(wish.action), "a rollout of another release has the name of this one");
  }
  if (status === "waiting-for-machines") return machinesError(rollout, tellsWords);
  if (status === "teardown-required") return leftError(rollout, tellsWords);
  const error = rolloutError(rollout, tellsWords) ?? waitError(rollout, tellsWords);
  return error && isOver({ status }) ? afterAnother(error, wish, facts.rollouts) : error;
}

/** A deletion that does not say that nothing is left may have left volumes and what is frozen. */
function leavesSome(action: Wish["action"], rollout: Rollout | undefined): boolean {
  return action === "delete" && rollout !== undefined && leftError(rollout, false) !== undefined;
}

const ENDS: ReadonlySet<DeploymentStatus> = new Set(["running", "deleted", "teardown-required"]);
/** Something is changed in the cluster. */
const WORKING: ReadonlySet<DeploymentStatus> = new Set([
  "provisioning",
  "waiting-for-machines",
  "updating",
  "deleting",
]);

/** One step from the platform's status towards what the rollout has come to (§24.4). */
function nextStatus(
  { status, wanted }: ReleaseRecord,
  { action, operationId }: Wish,
  stage: Stage,
  rollout: Rollout | undefined,
  offersMachines: boolean,
): DeploymentStatus {
  const again = RETRIES[status];
  if (again !== undefined) return wanted.retryRequested ? again : status;
  const hasStarted = rollout?.status?.startedAt !== undefined;
  const hasFailed = stage === "failed" || stage === "gone";
  const isMoving = stage === "working" || stage === "done";
  const needsMachines = offersMachines && rollout !== undefined && nodeNeedOf(rollout) !== undefined;
  const isSetup = operationId === undefined;
  switch (status) {
    case "pending":
      if (hasFailed) return hasStarted ? "initial-setup" : "preflights-failed";
      return isMoving || stage === "waiting" ? "initial-setup" : status;
    case "initial-setup":
      if (hasFailed) return hasStarted ? "provisioning" : "initial-setup-failed";
      return isMoving ? "provisioning" : status;
    case "provisioning":
      if (hasFailed) return "provisioning-failed";
      if (needsMachines) return "waiting-for-machines";
      return stage === "done" ? "running" : status;
    case "waiting-for-machines":
      if (hasFailed) return isSetup ? "provisioning-failed" : "update-failed";
      if (stage === "done") return "running";
      if (needsMachines) return status;
      return isSetup ? "provisioning" : "updating";
    case "update-pending":
      if (hasFailed) return "update-failed";
      return isMoving ? "updating" : status;
    case "updating":
      if (hasFailed) return "update-failed";
      if (needsMachines) return "waiting-for-machines";
      return stage === "done" ? "running" : status;
    case "delete-pending":
      return isMoving || hasFailed ? "deleting" : status;
    case "deleting":
      if (hasFailed) return "delete-failed";
      if (stage !== "done") return status;
      return leavesSome(action, rollout) ? "teardown-required" : "deleted";
    default:
      return status;
  }
}

function progressOf(
  from: DeploymentStatus,
  to: DeploymentStatus,
  { action, rolloutId }: Wish,
  error: StoredError | undefined,
): ReleaseReport["progress"] {
  if (from === to) return [];
  const type = action === "install" || action === "update" ? ("DeployingStack" as const) : ("CleaningUpStack" as const);
  const of = (state: ProgressEvent["state"]) => [{ type, state, data: { rollout: rolloutId } }];
  if (WORKING.has(to)) return WORKING.has(from) ? [] : of("started");
  if (!WORKING.has(from)) return [];
  if (ENDS.has(to)) return of("success");
  return error === undefined ? [] : of({ failed: { error } });
}
