import { counted } from "../../base/counted.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import type { RolloutConditionType, RolloutReason } from "../../crds/conditions.ts";
import { newestBegun } from "../../crds/kinds/installed-release.ts";
import type { Rollout, RolloutAction, RolloutSpec, RolloutState } from "../../crds/kinds/rollout.ts";
import { MAX_API_ERROR, printableLine } from "../../crds/printable.ts";

/** How far a wish has come. `gone`: there was a rollout, and it is not there any more. */
export type Stage = "none" | "planning" | "waiting" | "working" | "done" | "failed" | "gone";

const STAGES: Readonly<Record<RolloutState, Stage>> = {
  Planning: "planning",
  AwaitingApproval: "waiting",
  Queued: "waiting",
  Applying: "working",
  Gating: "working",
  Pruning: "working",
  RollingBack: "working",
  Unknown: "working",
  Succeeded: "done",
  RolledBack: "failed",
  Failed: "failed",
  Denied: "failed",
  Superseded: "failed",
  Aborted: "failed",
};

export function stageOf(rollout: Rollout): Exclude<Stage, "none" | "gone"> {
  return STAGES[rollout.status?.state ?? "Planning"] as Exclude<Stage, "none" | "gone">;
}

const INSTALLS: ReadonlySet<RolloutAction> = new Set(["install", "update"]);
/** Ends of a rollout that has begun after which objects of two contents may be there. */
const LEAVES_PARTS: ReadonlySet<RolloutState> = new Set(["Failed", "Aborted"]);

/** Errors that a retry does not heal. */
const LASTING: ReadonlySet<string> = new Set([
  "ROLLOUT_DENIED",
  "APPROVAL_PENDING",
  "MACHINES_NEEDED",
  "WAVE_WAITS",
  "RESOURCES_LEFT",
]);
const MAX_NAMED = 10;
const MAX_NAME = 128;
const MAX_REF = 320;

/** Texts of a rollout come from the cluster: of the API server, of webhooks, of the customer. */
type Words = (text: string) => string;

/**
 * Why a rollout waits or failed, for the vendor; undefined: there is nothing to say.
 *
 * @param tellsWords false: names are hidden, so nothing that the cluster worded is told.
 */
export function rolloutError(rollout: Rollout, tellsWords: boolean): StoredError | undefined {
  const { spec, status = {} } = rollout;
  const words: Words = (text) => (tellsWords && text !== "" ? `: ${printableLine(text, MAX_API_ERROR)}` : "");
  const stopped = spec.abortReason === undefined ? "" : words(spec.abortReason);
  const hasStarted = status.startedAt !== undefined;
  switch (status.state) {
    case "AwaitingApproval":
      return awaited(rollout, tellsWords);
    case "Denied":
      return stored("ROLLOUT_DENIED", `the customer said no${words(spec.deniedReason ?? said(rollout, "Approved"))}`);
    case "RolledBack":
      return rolledBack(rollout, words);
    case "Aborted":
      return hasStarted
        ? stored(failureOf(spec.action), `the customer stopped the rollout${partsOf(rollout)}${stopped}`)
        : stored("ROLLOUT_DENIED", `the customer stopped the rollout before it began${stopped}`);
    case "Superseded":
      return stored(failureOf(spec.action), "another rollout of the deployment took its place");
    case "Failed":
      return hasStarted ? failed(rollout, words) : refused(rollout, words, tellsWords);
    default:
      return undefined;
  }
}

/** What the operator says of pods that fit on no node, while it looks at a wave; undefined: it does not say so. */
export function nodeNeedOf({ status }: Rollout): string | undefined {
  // A wave that is held, by a pause or a closed window, is not looked at: what was said of it may be over.
  if (status?.state !== "Gating" || status.waveStartedAt === undefined) return undefined;
  const reason: RolloutReason<"Healthy"> = "AwaitingNodes";
  return status.conditions?.find((each) => each.type === "Healthy" && each.reason === reason)?.message;
}

/** What the operator says of a wave that waits for what has a warning; undefined: nothing. */
export function waitError({ status }: Rollout, tellsWords: boolean): StoredError | undefined {
  if (status?.state !== "Gating" || status.waveStartedAt === undefined) return undefined;
  const reason: RolloutReason<"Healthy"> = "NotComingUp";
  const found = status.conditions?.find((each) => each.type === "Healthy" && each.reason === reason);
  if (found === undefined) return undefined;
  const what = tellsWords ? `: ${printableLine(found.message, MAX_API_ERROR)}` : "";
  return stored("WAVE_WAITS", `an object of the release does not come up${what}`);
}

/** Undefined: no pod waits for a node. */
export function machinesError(rollout: Rollout, tellsWords: boolean): StoredError | undefined {
  const need = nodeNeedOf(rollout);
  if (need === undefined) return undefined;
  const what = tellsWords ? `: ${printableLine(need, MAX_API_ERROR)}` : "";
  return stored("MACHINES_NEEDED", `pods of the release fit on no node that the cluster has${what}`);
}

/** What a deletion left for a person; undefined: it says that nothing is left. */
export function leftError(rollout: Rollout, tellsWords: boolean): StoredError | undefined {
  const pruned = rollout.status?.conditions?.find(({ type }) => type === "Pruned");
  if (pruned?.status === "True") return undefined;
  const what = tellsWords && pruned ? `: ${printableLine(pruned.message, MAX_API_ERROR)}` : "";
  const are = pruned?.reason === "SomeLeft" ? "are" : "may be";
  return stored("RESOURCES_LEFT", `objects ${are} left for a person${what}`);
}

/** The rollout of a wish is not there any more. Deleting it is how the customer stops it. */
export function goneError(action: RolloutAction, hasStarted: boolean): StoredError {
  const message = "the rollout was deleted in the cluster";
  return stored(hasStarted ? failureOf(action) : "ROLLOUT_DENIED", message);
}

/**
 * What ends before it begins changes nothing: parts of one before it that has failed are there all the same, and are not
 * to be hidden by a denial.
 *
 * @param rollouts of the deployment
 */
export function afterAnother(
  error: StoredError,
  { action, rolloutId }: Pick<RolloutSpec, "action" | "rolloutId">,
  rollouts: readonly Rollout[],
): StoredError {
  const { spec, status } = newestBegun(rollouts) ?? {};
  const before = LEAVES_PARTS.has(status?.state ?? "Planning") ? spec?.rolloutId : undefined;
  if (before === undefined || before === rolloutId || !INSTALLS.has(action)) return error;
  const code = error.code === "ROLLOUT_DENIED" ? failureOf(action) : error.code;
  const left = `rollout ${before} was begun, did not come to its end and was not taken back as a whole: parts of it may be there`;
  return stored(code, `${left}; after that: ${error.message}`, { ...error.context, before });
}

export function failureOf(action: RolloutAction): string {
  if (action === "install") return "PROVISIONING_FAILED";
  return action === "update" ? "UPDATE_FAILED" : "DELETE_FAILED";
}

export function stored(code: string, message: string, context?: StoredError["context"]): StoredError {
  return { code, message, internal: false, retryable: !LASTING.has(code), ...(context != null && { context }) };
}

/** Nothing can be approved while objects of the customer have names of the release's. */
function awaited(rollout: Rollout, tellsWords: boolean): StoredError {
  const reason: RolloutReason<"Planned"> = "NotOurs";
  // While names are hidden a release with a guessed name is not to find out whether the customer has it.
  if (!tellsWords || denialOf(rollout, "Planned")?.reason !== reason) {
    return stored("APPROVAL_PENDING", "the customer has not approved the rollout");
  }
  const refs = (rollout.status?.plan?.refused ?? []).map(({ ref }) => printableLine(ref, MAX_REF));
  const objects = refs.slice(0, MAX_NAMED);
  const more = objects.length < refs.length ? `, and ${refs.length - objects.length} more` : "";
  const names = objects.length === 0 ? "" : `: ${objects.join(", ")}${more}`;
  const message = `in the way of the release: ${counted(refs.length, "object")} of the customer; nothing can be approved until the customer lets the release take over what is there, or removes it${names}`;
  return stored("APPROVAL_PENDING", message, { inTheWay: refs.length, objects });
}

/** What ended a rollout that ran, where that is not what became of its objects. */
const STOPPED_BY: Readonly<Partial<Record<RolloutReason<"Applied">, string>>> = {
  AbortedByCustomer: "the customer stopped it",
  DeniedByCustomer: "the customer denied it while it ran",
  PolicyDenied: "the customer's policy denied it while it ran",
  TimeOver: "its time was over",
};

function stopOf(rollout: Rollout): string | undefined {
  return STOPPED_BY[denialOf(rollout, "Applied")?.reason as RolloutReason<"Applied">];
}

function failed(rollout: Rollout, words: Words): StoredError {
  const { spec, status = {} } = rollout;
  const resources = (status.resources ?? []).filter(({ state }) => state === "failed").slice(0, MAX_NAMED);
  const names = resources.map(({ resourceId }) => printableLine(resourceId, MAX_NAME));
  const of = names.length === 0 ? "" : ` (${names.join(", ")})`;
  const unhealthy = said(rollout, "Healthy");
  const why = words(unhealthy || said(rollout, "Applied") || said(rollout, "Planned"));
  const ended = unhealthy === "" ? "it was begun and did not come to its end" : "it was applied and did not come up";
  const what = stopOf(rollout) ?? ended;
  return stored(failureOf(spec.action), `${what}${of}${partsOf(rollout)}${why}`, waveOf(rollout));
}

/** One that has begun and was not taken back leaves some of its objects; a deletion takes some away. */
function partsOf({ spec: { action } }: Rollout): string {
  return INSTALLS.has(action) ? "; it was not taken back as a whole, and parts of it may be there" : "";
}

function rolledBack(rollout: Rollout, words: Words): StoredError {
  const { spec, status = {} } = rollout;
  const why = words(said(rollout, "Healthy") || said(rollout, "Applied"));
  const what = stopOf(rollout) ?? "it did not come up";
  return stored("ROLLED_BACK", `${what}, and what ran before runs again${why}`, {
    from: spec.contentName,
    to: status.rolledBackTo,
  });
}

/** Before anything was changed. */
function refused(rollout: Rollout, words: Words, tellsWords: boolean): StoredError {
  const unapproved = denialOf(rollout, "Approved");
  if (unapproved?.reason === "OtherPlanApproved") {
    return stored(
      "OTHER_PLAN_APPROVED",
      "what the customer approved is not what would be done any more; nothing was changed",
    );
  }
  if (unapproved?.reason === "DeadlinePassed") {
    const message = `the customer did not answer in time, and nothing was changed${words(unapproved.message)}`;
    return stored("APPROVAL_EXPIRED", message);
  }
  const refusals = (rollout.status?.plan?.refused ?? []).slice(0, MAX_NAMED);
  const context = refusals.map(({ ref, message }) => ({
    object: printableLine(ref, MAX_REF),
    ...(tellsWords && { message: printableLine(message, 512) }),
  }));
  // This one names the objects.
  const first = said(rollout, "Planned") || said(rollout, "Approved");
  const message = `the plan could not be carried out, and nothing was changed${words(first)}`;
  return stored("PREFLIGHT_CHECKS_FAILED", message, context.length === 0 ? undefined : { refused: context });
}

/** Counted from 1, as the conditions do. After a way back it is that of the way back. */
function waveOf({ status: { wave = 0, waves } = {} }: Rollout): Record<string, unknown> {
  return waves === undefined ? {} : { wave: Math.min(wave + 1, waves), waves };
}

/** One that is Unknown is not said to fail: it is of a step that another condition may have ended since. */
function denialOf({ status }: Rollout, type: RolloutConditionType) {
  return status?.conditions?.find((each) => each.type === type && each.status === "False");
}

/** What the operator said with a condition that does not hold. */
function said(rollout: Rollout, type: RolloutConditionType): string {
  return denialOf(rollout, type)?.message ?? "";
}
