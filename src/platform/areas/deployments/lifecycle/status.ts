import type { DeploymentModel, DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";

/** The causes of a change of a deployment's status (§24.4). */
export type Trigger =
  /** A manager reports the status. Pull deployments may skip steps within a phase. */
  | { readonly by: "report"; readonly to: DeploymentStatus; readonly model: DeploymentModel }
  /** Another release or configuration is desired. */
  | { readonly by: "target" }
  /** A client requested a retry, and a manager acquires the work. */
  | { readonly by: "retry" }
  | { readonly by: "delete"; readonly action: "cleanup" | "detach" | "forget" };

type Moves = Partial<Readonly<Record<DeploymentStatus, readonly DeploymentStatus[]>>>;

const REPORTS: Moves = {
  pending: ["initial-setup", "preflights-failed"],
  "initial-setup": ["provisioning", "initial-setup-failed"],
  provisioning: ["running", "waiting-for-machines", "provisioning-failed"],
  "waiting-for-machines": ["provisioning", "updating", "running", "provisioning-failed", "update-failed"],
  running: ["update-pending", "refresh-failed"],
  "refresh-failed": ["running", "update-pending"],
  "update-pending": ["updating", "update-failed"],
  updating: ["running", "waiting-for-machines", "update-failed"],
  "delete-pending": ["deleting"],
  deleting: ["deleted", "teardown-required", "delete-failed"],
  "teardown-required": ["deleted", "teardown-failed"],
};

/** Statuses that a pull deployment may report in addition: the end of the phase, or the failure of a later step. */
const PULL_SKIPS: Moves = {
  pending: ["running", "initial-setup-failed", "provisioning-failed"],
  "initial-setup": ["running", "provisioning-failed"],
  provisioning: ["running"],
  "update-pending": ["running"],
  "delete-pending": ["deleted", "teardown-required", "delete-failed"],
};

const RETRIES: Partial<Readonly<Record<DeploymentStatus, DeploymentStatus>>> = {
  "preflights-failed": "pending",
  "initial-setup-failed": "initial-setup",
  "provisioning-failed": "provisioning",
  "refresh-failed": "update-pending",
  "update-failed": "update-pending",
  "delete-failed": "deleting",
  "teardown-failed": "teardown-required",
};

/** The only statuses that a new target changes at once; in the others it is queued or refused (target.ts). */
const TARGETS: readonly DeploymentStatus[] = ["running", "refresh-failed", "update-failed"];

const DELETE_STARTED: readonly DeploymentStatus[] = [
  "delete-pending",
  "deleting",
  "teardown-required",
  "teardown-failed",
  "deleted",
];

/** A delete is in progress or done. Reports of other statuses are then outdated (§15.3). */
const DELETE_PHASE: readonly DeploymentStatus[] = [...DELETE_STARTED, "delete-failed"];

export function isDeletePhase(status: DeploymentStatus): boolean {
  return DELETE_PHASE.includes(status);
}

/** Statuses that retry accepts. */
export function canRetry(status: DeploymentStatus): boolean {
  return RETRIES[status] !== undefined;
}

/** Statuses that a report may name, in addition to the current one. */
export function reportable(from: DeploymentStatus, model: DeploymentModel): readonly DeploymentStatus[] {
  const skips = model === "pull" ? (PULL_SKIPS[from] ?? []) : [];
  const fault: readonly DeploymentStatus[] = from === "deleted" || from === "error" ? [] : ["error"];
  return [...(REPORTS[from] ?? []), ...skips, ...fault];
}

/** The status after the trigger; undefined when the move is not allowed. */
export function nextStatus(from: DeploymentStatus, trigger: Trigger): DeploymentStatus | undefined {
  switch (trigger.by) {
    case "report":
      return trigger.to === from || reportable(from, trigger.model).includes(trigger.to) ? trigger.to : undefined;
    case "target":
      return TARGETS.includes(from) ? "update-pending" : undefined;
    case "retry":
      return RETRIES[from];
    case "delete":
      if (trigger.action === "forget") return from === "deleted" ? undefined : "deleted";
      return DELETE_STARTED.includes(from) ? undefined : "delete-pending";
  }
}
