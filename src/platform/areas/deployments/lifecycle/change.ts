import type { DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import type { EventState, EventType } from "../../../../contract/events/events.ts";
import type { StoredError } from "../../../../contract/wire/stored-error.ts";
import { json } from "../../../database/json.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Kept } from "../../../database/tables/kept.ts";
import type { Call, ChangeCall } from "../../../kernel/call/call.ts";
import { eventState, failedWith, type NewEventState } from "../../../kernel/events/outbox.ts";
import { actorOf } from "../../../kernel/tenancy/principal.ts";
import { kept } from "../../../kernel/tenancy/stored-error.ts";
import { updateDeployment } from "../read/store.ts";
import { deploymentEnded } from "./ended.ts";
import type { Targeted } from "./target.ts";

/** The `phase` of DeploymentFailed for each failure status. */
const FAILURES: Partial<Record<DeploymentStatus, "preflights" | "provisioning" | "updating" | "deleting">> = {
  "preflights-failed": "preflights",
  "initial-setup-failed": "provisioning",
  "provisioning-failed": "provisioning",
  "update-failed": "updating",
  "delete-failed": "deleting",
  "teardown-failed": "deleting",
};

/** For failures that were reported without an error. */
const UNEXPLAINED = kept<StoredError>({ code: "DEPLOYMENT_FAILED", message: "no error was reported", internal: false });

/** Progress events: each begins when a status is entered, and ends with one of others (§13.2). */
const PROGRESS: readonly {
  readonly type: EventType;
  readonly begins: DeploymentStatus;
  readonly succeeds: readonly DeploymentStatus[];
  readonly fails: readonly DeploymentStatus[];
}[] = [
  { type: "ProvisioningAgent", begins: "provisioning", succeeds: ["running"], fails: ["provisioning-failed"] },
  { type: "UpdatingAgent", begins: "updating", succeeds: ["running"], fails: ["update-failed"] },
  { type: "DeletingAgent", begins: "deleting", succeeds: ["deleted", "teardown-required"], fails: ["delete-failed"] },
];

/** The columns for a new status and target. */
export function targetColumns(next: Targeted) {
  return {
    status: next.status,
    desired_release_id: next.desired_release_id,
    update_state: next.update_state === null ? null : json(next.update_state),
  };
}

/**
 * Writes what follows a status change, in the transaction of the change: events, progress, and the end of what a
 * deleted deployment leaves open. `row` is as stored now, `from` the status before.
 */
export async function statusChanged(call: ChangeCall, from: DeploymentStatus, row: DeploymentRow): Promise<void> {
  const { status: to } = row;
  if (from === to) return;
  if (from === "pending" && to !== "delete-pending" && to !== "deleted") await preflightsRan(call, row);
  await tellProgress(call, from, row);
  await tellFacts(call, from, row);
  if (to === "deleted") await deploymentEnded(call, row);
  for (const hook of call.hooks.deploymentChanged) await hook(call, row);
}

async function tellFacts(call: ChangeCall, from: DeploymentStatus, row: DeploymentRow): Promise<void> {
  const { id: deploymentId, status: to, project_id: projectId } = row;
  const error = row.error ?? UNEXPLAINED;
  const record = (type: EventType, data: object) =>
    call.emit({ type, projectId, deploymentId, data: { deploymentId, ...data } });
  const phase = FAILURES[to];
  if (phase !== undefined) {
    const attemptedReleaseId = row.desired_release_id ?? row.current_release_id;
    await record("DeploymentFailed", { attemptedReleaseId, error, phase });
  }
  if (from === "running" && to === "refresh-failed") await record("DeploymentDegraded", { error });
  if (from === "refresh-failed" && to === "running") {
    await record("DeploymentRecovered", { releaseId: row.current_release_id });
  }
  if (to === "deleted") await record("DeploymentDeleted", {});
}

async function preflightsRan(call: ChangeCall, row: DeploymentRow): Promise<void> {
  await call.emit({
    type: "RunningPreflights",
    projectId: row.project_id,
    deploymentId: row.id,
    data: { platform: row.platform, stack: row.resource_prefix ?? row.name },
    state: row.status === "preflights-failed" ? failed(row) : "success",
  });
}

async function tellProgress(call: ChangeCall, from: DeploymentStatus, row: DeploymentRow): Promise<void> {
  for (const { type, begins, succeeds, fails } of PROGRESS) {
    if (row.status === begins) {
      // A machine has come: the event of before the wait is still open.
      if (from === "waiting-for-machines") continue;
      const releaseId = row.desired_release_id ?? row.current_release_id;
      const data = { agentId: row.id, releaseId };
      await call.emit({ type, projectId: row.project_id, deploymentId: row.id, data, state: "started" });
    } else if (succeeds.includes(row.status)) {
      await endProgress(call, row, type, "success");
    } else if (fails.includes(row.status)) {
      await endProgress(call, row, type, failed(row));
    }
  }
}

/** A progress event is one row; its end changes the state of that row. */
async function endProgress(call: ChangeCall, row: DeploymentRow, type: EventType, state: NewEventState): Promise<void> {
  await call.db
    .updateTable("events")
    .set({ state: eventState(state) })
    .where("deployment_id", "=", row.id)
    .where("type", "=", type)
    .where("state", "=", eventState("started"))
    .execute();
}

function failed(row: DeploymentRow): Kept<EventState> {
  return failedWith(row.error ?? UNEXPLAINED);
}

/** Makes a change that a caller requested: stores it, writes the event `fact`, and notifies the manager. */
export async function changeByRequest(
  call: ChangeCall & Pick<Call, "principal">,
  row: DeploymentRow,
  set: Parameters<typeof updateDeployment>[2],
  fact?: { readonly type: EventType; readonly data: object; readonly withActor?: true },
): Promise<DeploymentRow> {
  const stored = await updateDeployment(call.db, row.id, { ...set, updated_at: call.now });
  if (fact !== undefined) {
    const actor = fact.withActor === true ? { actor: actorOf(call.principal) } : {};
    const data = { deploymentId: row.id, ...fact.data, ...actor };
    await call.emit({ type: fact.type, projectId: row.project_id, deploymentId: row.id, data });
  }
  await call.raise("deployments", row.id);
  await statusChanged(call, row.status, stored);
  return stored;
}
