import type { ItemStatus } from "../../../../contract/deployment-portal/deployment-info.ts";
import type { DeploymentListItem } from "../../../../contract/deployments/deployment.ts";
import type { DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import type { SetupStatus } from "../../../../contract/managers/managers.ts";

/** How far something is, in words for the person who sets it up. */
export interface Progress {
  readonly tone: "good" | "warn" | "bad";
  readonly words: string;
  /** Nothing more will come by itself. */
  readonly isSettled: boolean;
}

const good = (words: string): Progress => ({ tone: "good", words, isSettled: true });
const underWay = (words: string): Progress => ({ tone: "warn", words, isSettled: false });
const bad = (words: string): Progress => ({ tone: "bad", words, isSettled: false });
const over = (words: string): Progress => ({ tone: "bad", words, isSettled: true });

type Told = Pick<DeploymentListItem, "status" | "connectivity" | "waitsFor">;

/** Pure. A failure is not settled: a retry or the next report may end it. */
export function deploymentProgress({ status, connectivity, waitsFor }: Told): Progress {
  if (waitsFor === "manager" && !GOING[status]) return underWay("waits for a manager that serves it");
  if (status === "running" && connectivity === "stale") return bad("runs, but was not heard of for three minutes");
  if (status === "running" && connectivity === "never") return underWay("set up, and not heard of yet");
  return DEPLOYMENT[status];
}

/** In these states a deployment is on its way out, with or without a manager. */
const GOING: Readonly<Partial<Record<DeploymentStatus, true>>> = {
  "delete-pending": true,
  deleting: true,
  "teardown-required": true,
  deleted: true,
};

const DEPLOYMENT: Readonly<Record<DeploymentStatus, Progress>> = {
  pending: underWay("waits for the agent in your cluster, and for you to accept it there"),
  "preflights-failed": bad("a check before the setup failed"),
  "initial-setup": underWay("is being prepared"),
  "initial-setup-failed": bad("the preparation failed"),
  provisioning: underWay("is being set up"),
  "waiting-for-machines": underWay("waits for machines to join"),
  "provisioning-failed": bad("the setup failed"),
  running: good("runs"),
  "refresh-failed": bad("its state could not be read"),
  "update-pending": underWay("waits for an update"),
  updating: underWay("is being updated"),
  "update-failed": bad("an update failed"),
  "delete-pending": underWay("waits to be deleted"),
  deleting: underWay("is being deleted"),
  "delete-failed": bad("the deletion failed"),
  "teardown-required": underWay("waits for what the setup made to be taken down"),
  "teardown-failed": bad("taking down what the setup made failed"),
  deleted: over("is deleted"),
  error: bad("failed"),
};

export const ITEM: Readonly<Record<ItemStatus, Progress>> = {
  "not-started": underWay("not begun"),
  waiting: underWay("waits"),
  applying: underWay("is being set up"),
  verifying: underWay("set up, and not confirmed yet"),
  connected: good("connected"),
  "needs-attention": bad("needs attention"),
  revoked: over("taken back"),
};

export const MANAGER: Readonly<Record<SetupStatus, Progress>> = {
  pending: underWay("waits for its setup: nothing has used this link's key yet"),
  provisioning: underWay("its key is handed out; the platform waits to hear of it"),
  active: good("is set up and was heard of"),
  failed: bad("its setup failed, or it was not heard of for an hour"),
  deleting: over("is being deleted"),
  deleted: over("is deleted"),
};
