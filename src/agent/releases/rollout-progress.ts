import type { StoredError } from "../../contract/wire/stored-error.ts";
import type { RolloutConditionType } from "../../crds/conditions.ts";
import type { Rollout, RolloutAction, RolloutState } from "../../crds/kinds/rollout.ts";
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

/** Errors that a retry does not heal. */
const LASTING: ReadonlySet<string> = new Set(["ROLLOUT_DENIED", "APPROVAL_PENDING", "RESOURCES_LEFT"]);
const MAX_NAMED = 10;
const MAX_NAME = 128;

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
      return stored("APPROVAL_PENDING", "the customer has not approved the rollout");
    case "Denied":
      return stored("ROLLOUT_DENIED", `the customer said no${words(spec.deniedReason ?? said(rollout, "Approved"))}`);
    case "RolledBack":
      return rolledBack(rollout, words);
    case "Aborted":
      return hasStarted
        ? stored(failureOf(spec.action), `the customer stopped the rollout${stopped}`)
        : stored("ROLLOUT_DENIED", `the customer stopped the rollout before it began${stopped}`);
    case "Superseded":
      return stored(failureOf(spec.action), "another rollout of the deployment took its place");
    case "Failed":
      return hasStarted ? failed(rollout, words) : refused(rollout, words, tellsWords);
    default:
      return undefined;
  }
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

export function failureOf(action: RolloutAction): string {
  if (action === "install") return "PROVISIONING_FAILED";
  return action === "update" ? "UPDATE_FAILED" : "DELETE_FAILED";
}

export function stored(code: string, message: string, context?: StoredError["context"]): StoredError {
  return { code, message, internal: false, retryable: !LASTING.has(code), ...(context != null && { context }) };
}

function failed(rollout: Rollout, words: Words): StoredError {
  const { spec, status = {} } = rollout;
  const resources = (status.resources ?? []).filter(({ state }) => state === "failed").slice(0, MAX_NAMED);
  const names = resources.map(({ resourceId }) => printableLine(resourceId, MAX_NAME));
  const of = names.length === 0 ? "" : ` (${names.join(", ")})`;
  const unhealthy = said(rollout, "Healthy");
  const why = words(unhealthy || said(rollout, "Applied") || said(rollout, "Planned"));
  const what = unhealthy === "" ? "it was begun and did not come to its end" : "it was applied and did not come up";
  return stored(failureOf(spec.action), `${what}${of}${why}`, waveOf(rollout));
}

function rolledBack(rollout: Rollout, words: Words): StoredError {
  const { spec, status = {} } = rollout;
  const why = words(said(rollout, "Healthy") || said(rollout, "Applied"));
  return stored("ROLLED_BACK", `it did not come up, and what ran before runs again${why}`, {
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
    object: printableLine(ref, 320),
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
