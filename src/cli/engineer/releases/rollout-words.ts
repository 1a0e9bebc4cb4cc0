import { pastedLine } from "../../../contract/wire/pasted-line.ts";
import { SETUP_FAILED, type Standing, type WatchedState } from "./standing.ts";

/** Without news for longer, an agent is not there (§9.5). */
const SILENT_MS = 180_000;

/** The next step, by the code of the error of a deployment that waits. Other codes are only told. */
const WAITS: Readonly<Record<string, string>> = {
  RUNNER_DISABLED: "it stays wanted; the customer switches releases on (releases.enabled), or installs it by hand",
  APPROVAL_PENDING: "it is the customer's turn",
  WAVE_WAITS: "mend what it waits for, or promote another release; when the wave's time is over it is taken back",
  MACHINES_NEEDED: "make a join token and let a machine join, before the wave's time is over",
};

/** The same, of one that has failed. */
const FAILED: Readonly<Record<string, string>> = {
  APPROVAL_EXPIRED: "ask the customer, then retry",
  OTHER_PLAN_APPROVED: "retry: the customer is shown the new plan",
  ROLLOUT_DENIED: "ask; then retry, or promote another release",
  PREFLIGHT_CHECKS_FAILED: "mend the release, or retry once the cluster is mended",
  PROVISIONING_FAILED: "mend it, promote another release and retry, or retry this one",
  UPDATE_FAILED: "mend it and promote another release, or retry",
  ROLLED_BACK: "mend it and promote another release, or retry",
  RESOURCE_DRIFT: "ask the customer; a redeploy makes what is missing, and leaves the customer's fields",
  RESOURCE_UNHEALTHY: "look at the health of its workloads; promote another release",
  SECRET_VALUES_REFUSED: "the customer provides these values as a Secret",
  DELETE_FAILED: "ask the customer; a retry asks for the deletion again",
};

/** A promotion changes what a failed setup will install, and does not begin it. */
const SETUP_NEEDS = "its setup begins again with a retry alone, also with another release";

/** What may hold up a deployment that tells no error, by its status. */
const WITHOUT_ERROR: Readonly<Record<string, string>> = {
  pending: "not begun: the customer has not accepted the deployment, or its first plan is being made",
  "initial-setup": "its plan is being made, or a window, a pause or another rollout of the customer's holds it",
  "update-pending": "its plan is being made, or a window, a pause or another rollout of the customer's holds it",
};

/** States of which the status says what is the case, and no error has to. */
const BY_STATE: Readonly<Partial<Record<WatchedState, string>>> = {
  deleting: "it is being deleted, and is not updated any more",
  "delete-failed": "it is to be deleted, and is not updated any more",
};

/** What the customer alone can end. */
const OF_THE_CUSTOMER: ReadonlySet<string> = new Set(["RUNNER_DISABLED", "APPROVAL_PENDING"]);

export function isOnItsWay({ state }: Pick<Standing, "state">): boolean {
  return state === "pending" || state === "updating";
}

export function waitsForCustomer({ state, item: { error } }: Pick<Standing, "state" | "item">): boolean {
  return isOnItsWay({ state }) && error !== null && OF_THE_CUSTOMER.has(error.code);
}

/** Why a deployment is where it is, and what helps; null when there is nothing to say. */
export function whyOf(standing: Standing, now: Date): string | null {
  const { item, state, isAgain, isRetried, failedOf } = standing;
  const { id, error, platform, pinnedReleaseId, lastHeartbeatAt } = item;
  if (state === "no-stack") return `the release has nothing for the platform ${platform}`;
  if (state === "pinned-other") return `pinned to ${pinnedReleaseId}: it is updated when the pin is taken off`;
  const isWaiting = isOnItsWay(standing);
  const again = isAgain ? "the same release is applied again" : isRetried ? "a retry is asked for" : undefined;
  // Until its agent has reported, the record of one that is on its way has the error of the attempt before.
  const isOfBefore = error !== null && isWaiting && (isRetried || Object.hasOwn(FAILED, error.code));
  if (error !== null && !isOfBefore) {
    // What is to be deleted is not mended by a release.
    const helps = state === "delete-failed" ? FAILED.DELETE_FAILED : (nextOf(error.code) ?? error.hint);
    const next = [helps, ...(SETUP_FAILED.includes(item.status) ? [SETUP_NEEDS] : [])].filter(Boolean).join("; ");
    const said = `${error.code}: ${cut(error.message)}`;
    if (state === "retry-needed") return `${failedOf} has failed: ${said}; this one begins with: ${retryLine(id)}`;
    return [again ?? BY_STATE[state], `${said}${next ? `; ${next}` : ""}`].filter(Boolean).join("; ");
  }
  if (!isWaiting) return BY_STATE[state] ?? null;
  if (lastHeartbeatAt === null) return "no agent has been heard of: the customer installs it";
  const isSilent = now.getTime() - Date.parse(lastHeartbeatAt) > SILENT_MS;
  if (isSilent) return `its agent is silent since ${lastHeartbeatAt.replace(/\.\d{3}Z$/, "Z")}`;
  const held = isOfBefore ? `not begun by its agent yet; the attempt before ended with ${error.code}` : undefined;
  return [again, held ?? WITHOUT_ERROR[item.status]].filter(Boolean).join("; ") || null;
}

function nextOf(code: string): string | undefined {
  for (const words of [WAITS, FAILED]) if (Object.hasOwn(words, code)) return words[code];
  return undefined;
}

/** The line that makes a failed setup begin again. */
export function retryLine(id: string): string {
  return pastedLine`sallyport deployments retry ${id}` ?? "a retry of the deployment";
}

/** Leaves room in the table's cell for what helps. */
const MESSAGE_MAX = 340;

function cut(message: string): string {
  return message.length <= MESSAGE_MAX ? message : `${message.slice(0, MESSAGE_MAX)}…`;
}

/** What makes a line of its own: a heartbeat alone is no change. */
export function contentOf({ item, state }: Standing, why: string | null): string {
  const { status, error, currentReleaseId } = item;
  return JSON.stringify([state, status, error?.code, currentReleaseId, why]);
}
