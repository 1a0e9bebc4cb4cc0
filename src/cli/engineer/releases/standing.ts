import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import type { Release, ReleaseDeployment, RolloutState } from "../../../contract/releases/releases.ts";

/** The platform's state of a deployment towards a release, or what a person has to know besides. */
export type WatchedState =
  | RolloutState
  /** The setup of another release has failed: this one is not begun before a retry. */
  | "retry-needed"
  /** It runs the release, and is not as it was released. */
  | "refresh-failed"
  | "deleting"
  | "delete-failed"
  /** It follows the channel, and the release has no stack for its platform. */
  | "no-stack";

/** Where a deployment stands towards the release that is watched. */
export interface Standing {
  readonly item: ReleaseDeployment;
  readonly state: WatchedState;
  /** It runs the release, which is applied once more. */
  readonly isAgain: boolean;
  readonly isRetried: boolean;
  /** The other release of which the setup has failed. */
  readonly failedOf: string | undefined;
}

/** What the record of {@link ReleaseDeployment} does not have. */
interface Known {
  readonly isRetried: boolean;
  /** Of a failed setup: the release that was tried. Undefined: not known. */
  readonly failedOf: string | undefined;
}

/** A promotion changes what these will install, and neither their status nor their error. */
export const SETUP_FAILED: readonly DeploymentStatus[] = [
  "preflights-failed",
  "initial-setup-failed",
  "provisioning-failed",
];
/** Nothing more happens in these by itself, and the release is not there as it was made. */
export const NOT_RUN: readonly WatchedState[] = ["failed", "retry-needed", "refresh-failed", "delete-failed"];

const JUDGED: ReadonlySet<RolloutState> = new Set(["failed", "updated", "updating", "pending"]);
const BY_STATUS: Readonly<Partial<Record<DeploymentStatus, WatchedState>>> = {
  ...{ "delete-pending": "deleting", deleting: "deleting", "teardown-required": "deleting" },
  ...{ "delete-failed": "delete-failed", "teardown-failed": "delete-failed" },
  ...{ "refresh-failed": "refresh-failed", error: "failed" },
};
const UNDER_WAY: ReadonlySet<DeploymentStatus> = new Set(["update-pending", "updating", "waiting-for-machines"]);

export function standingOf(
  item: ReleaseDeployment,
  { id, stack }: Pick<Release, "id" | "stack">,
  { isRetried, failedOf }: Known,
): Standing {
  const { rolloutState, status, platform, desiredReleaseId } = item;
  const isAgain = rolloutState === "updated" && UNDER_WAY.has(status);
  const isOfOther = failedOf !== undefined && failedOf !== id;
  const state = (): WatchedState => {
    if (!JUDGED.has(rolloutState)) return rolloutState;
    if (rolloutState === "failed" && isRetried) return "pending";
    if (rolloutState === "failed" && isOfOther) return "retry-needed";
    if (isAgain) return "updating";
    if (rolloutState === "pending" && desiredReleaseId !== id && stack[platform] == null) return "no-stack";
    return BY_STATUS[status] ?? rolloutState;
  };
  return { item, state: state(), isAgain, isRetried, failedOf: isOfOther ? failedOf : undefined };
}
