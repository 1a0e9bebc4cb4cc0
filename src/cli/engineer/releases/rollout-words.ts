import type { ReleaseDeployment } from "../../../contract/releases/releases.ts";

/** Without news for longer, an agent is not there (§9.5). */
const SILENT_MS = 180_000;

/** The next step, by the code of a deployment's error. Others are only told. */
const NEXT: Readonly<Record<string, string>> = {
  RUNNER_DISABLED: "it stays wanted; the customer switches releases on (releases.enabled), or installs it by hand",
  APPROVAL_PENDING: "the customer reads the plan and approves",
  APPROVAL_EXPIRED: "ask the customer, then retry",
  MACHINES_NEEDED: "make a join token and let a machine join, before the wave's time is over",
  OTHER_PLAN_APPROVED: "retry: the customer is shown the new plan",
  ROLLOUT_DENIED: "ask, and promote another release",
  PREFLIGHT_CHECKS_FAILED: "mend the release, or retry once the cluster is mended",
  PROVISIONING_FAILED: "mend it, promote another release and retry, or retry this one",
  UPDATE_FAILED: "mend it and promote another release, or retry",
  ROLLED_BACK: "what ran before runs again: mend it and promote another release, or retry",
  RESOURCE_DRIFT: "ask the customer; a redeploy makes what is missing, and leaves the customer's fields",
  SECRET_VALUES_REFUSED: "the customer provides these values as a Secret",
};

/** What may hold up a deployment that tells no error, by its status. */
const WITHOUT_ERROR: Readonly<Record<string, string>> = {
  pending: "not begun: the customer has not accepted the deployment, or its first plan is being made",
  "initial-setup": "its plan is being made, or a window, a pause or another rollout of the customer's holds it",
  "update-pending": "its plan is being made, or a window, a pause or another rollout of the customer's holds it",
};

/** What the customer alone can end. */
const OF_THE_CUSTOMER: ReadonlySet<string> = new Set(["RUNNER_DISABLED", "APPROVAL_PENDING", "SECRET_VALUES_REFUSED"]);

export function waitsForCustomer({ rolloutState, error }: ReleaseDeployment): boolean {
  return rolloutState !== "failed" && error !== null && OF_THE_CUSTOMER.has(error.code);
}

/** Why a deployment is where it is, and what helps; null when there is nothing to say. */
export function whyOf(item: ReleaseDeployment, now: Date): string | null {
  const { error, rolloutState, lastHeartbeatAt } = item;
  if (error !== null) {
    const next = Object.hasOwn(NEXT, error.code) ? NEXT[error.code] : error.hint;
    return `${error.code}: ${cut(error.message)}${next ? `; ${next}` : ""}`;
  }
  if (rolloutState !== "pending" && rolloutState !== "updating") return null;
  if (lastHeartbeatAt === null) return "no agent has been heard of: the customer installs it";
  const isSilent = now.getTime() - Date.parse(lastHeartbeatAt) > SILENT_MS;
  if (isSilent) return `its agent is silent since ${lastHeartbeatAt.replace(/\.\d{3}Z$/, "Z")}`;
  return WITHOUT_ERROR[item.status] ?? null;
}

/** Leaves room in the table's cell for what helps. */
const MESSAGE_MAX = 400;

function cut(message: string): string {
  return message.length <= MESSAGE_MAX ? message : `${message.slice(0, MESSAGE_MAX)}…`;
}

/** What makes a line of its own: a heartbeat alone is no change. */
export function contentOf(
  { rolloutState, status, error, currentReleaseId }: ReleaseDeployment,
  why: string | null,
): string {
  return JSON.stringify([rolloutState, status, error?.code, currentReleaseId, why]);
}
