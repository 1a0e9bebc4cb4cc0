import { randomBytes } from "node:crypto";
import type { Static } from "typebox";
import { DEPLOYMENT_PROTOCOL_VERSION, type EnvironmentInfo } from "../../../contract/deployments/deployment-state.ts";
import type { syncRoutes } from "../../../contract/deployments/sync.ts";
import { json } from "../../database/json.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import { type Issue, invalid, invalidTransition, PlatformError } from "../../kernel/errors.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";
import { regionOf } from "../deployments/create/create.ts";
import { statusChanged, targetColumns } from "../deployments/lifecycle/change.ts";
import { reportLock } from "../deployments/lifecycle/lease.ts";
import type { Targeted } from "../deployments/lifecycle/target.ts";
import { updateDeployment } from "../deployments/read/store.ts";
import { tellsHealth } from "../deployments/settings/heartbeats.ts";
import { findRelease } from "../releases/record/store.ts";
import type { SyncCall } from "./acquire.ts";
import { storeInventory } from "./inventory.ts";
import { withoutLate } from "./late-report.ts";
import { storeLevel } from "./level.ts";
import {
  capped,
  endKept,
  heartbeatIssues,
  observedVersion,
  removeHeartbeats,
  removeUntold,
  storeHeartbeats,
} from "./observations.ts";
import { storeProgress } from "./progress.ts";
import { currentReleaseOf, judge } from "./report.ts";
import { requireReportBudget } from "./report-budget.ts";
import { payForRefused, payForTold } from "./told-bytes.ts";

export type ReconcileBody = Static<(typeof syncRoutes)["reconcile"]["body"]>;

export interface Reconciled {
  readonly row: DeploymentRow;
  /** What is stored of the resources is not what the reporter believes. */
  readonly resendResources: boolean;
}

/** Stores a manager's report (§15.3), all of it or nothing, and returns the new row. */
export async function reconcile(call: SyncCall, row: DeploymentRow, body: ReconcileBody): Promise<Reconciled> {
  const told = withoutLate(call, body, row.resources_full_at);
  const paid = payForTold(call, row, told);
  call.onRefusal((db) => payForRefused(call, db, row.id, told));
  await check(call, row, body);
  const verdict = judge(row, body.state, call.now, body.operationId);
  if (verdict.kind === "illegal") throw invalidTransition(verdict.from, body.state.status, verdict.allowed);
  const resendResources = await storeResources(call, row.id, told);
  await storeProgress(call, row, body.progressEvents ?? []);
  const { suggestedDelayMs, capabilities, operatorVersion } = body;
  const said = {
    ...(tellsResources(body) && { resources_version: randomBytes(9).toString("base64url") }),
    ...fullAtOf(call, row, body),
    ...paid,
    ...(body.updateHeartbeat !== false && { last_heartbeat_at: call.now }),
    ...(suggestedDelayMs != null && { next_step_after: new Date(call.now.getTime() + suggestedDelayMs) }),
    ...(capabilities !== undefined && { capabilities: json(capabilities) }),
    ...(operatorVersion != null && { operator_version: operatorVersion }),
  };
  if (verdict.kind === "ignored") return { row: await store(call, row, said), resendResources };
  const { next, retryRequested } = verdict;
  const changed = next.status !== row.status;
  const stored = await store(call, row, {
    ...(changed && { next_step_after: null }),
    ...said,
    ...stateColumns(body, await environmentOf(call, row, body)),
    ...targetColumns(next),
    retry_requested: retryRequested,
    current_release_id: next.current_release_id,
    ...releaseColumns(row, next, call.now),
    ...(changed && { updated_at: call.now }),
    ...appliedConfiguration(row, next.status),
  });
  await writeEvents(call, row, stored, body);
  return { row: stored, resendResources };
}

/** Random and not counted: a counter would come to the same number again after the database was restored. */
function tellsResources(body: ReconcileBody): boolean {
  const { resourceHeartbeats, observedInventoryBatches, removedHeartbeats, resourceLevel } = body;
  return [resourceHeartbeats, observedInventoryBatches, removedHeartbeats, resourceLevel].some(
    (each) => each !== undefined,
  );
}

/** @returns whether the reporter must send all resources again. */
async function storeResources(call: SyncCall, id: string, told: ReturnType<typeof withoutLate>): Promise<boolean> {
  const { resourceHeartbeats, observedInventoryBatches, removedHeartbeats, resourceLevel, observedAt } = told;
  const named = new Set(resourceHeartbeats.map(({ resourceType, resourceId }) => `${resourceType}/${resourceId}`));
  const ended = removedHeartbeats.filter(({ resourceType, resourceId }) => !named.has(`${resourceType}/${resourceId}`));
  await removeHeartbeats(call, id, ended, observedAt);
  await storeHeartbeats(call, id, resourceHeartbeats);
  await storeInventory(call, id, observedInventoryBatches);
  if (resourceLevel?.full === true) await removeUntold(call, id, resourceLevel.observedAt);
  if (resourceLevel?.full === true || observedInventoryBatches.length > 0) await endKept(call, id);
  const changes = [resourceHeartbeats, observedInventoryBatches, removedHeartbeats].some(({ length }) => length > 0);
  const changed = changes || resourceLevel?.full === true ? await requireReportBudget(call, id) : undefined;
  return storeLevel(call, id, resourceLevel, changed);
}

/** When the last full report was made; it stays when a late one comes after a newer. */
function fullAtOf({ now }: SyncCall, { resources_full_at: before }: DeploymentRow, { resourceLevel }: ReconcileBody) {
  if (resourceLevel?.full !== true) return {};
  const at = capped(resourceLevel.observedAt, now);
  return before !== null && at < before ? {} : { resources_full_at: at };
}

async function check(call: SyncCall, row: DeploymentRow, body: ReconcileBody): Promise<void> {
  const { state } = body;
  if (state.protocolVersion !== DEPLOYMENT_PROTOCOL_VERSION)
    throw new PlatformError("INCOMPATIBLE_DEPLOYMENT_PROTOCOL");
  const issues: Issue[] = [...heartbeatIssues(row.id, body.resourceHeartbeats ?? []), ...untellable(row, body)];
  const platforms = {
    "body.state.platform": state.platform,
    "body.state.environmentInfo.platform": state.environmentInfo?.platform,
  };
  for (const [path, platform] of Object.entries(platforms)) {
    if (platform !== undefined && platform !== row.platform) issues.push({ path, message: `must be ${row.platform}` });
  }
  const releaseId = currentReleaseOf(row, state);
  if (releaseId !== null && releaseId !== row.current_release_id) {
    const release = await findRelease(call.db, row.workspace_id, releaseId);
    if (release?.project_id !== row.project_id) {
      issues.push({ path: "body.state.currentRelease.releaseId", message: "is no release of the project" });
    }
  }
  const lock = reportLock(row, { session: body.session ?? null, model: row.deployment_model }, call.now);
  if (lock === "session-required") issues.push({ path: "body.session", message: "is required for push deployments" });
  if (issues.length > 0) throw invalid(...issues);
  if (lock === "LEASE_LOST" || lock === "DEPLOYMENT_LOCKED") throw new PlatformError(lock);
}

/** With heartbeats off a report says nothing of resources: what is refused was not stored for a moment either. */
function untellable(row: DeploymentRow, body: ReconcileBody): readonly Issue[] {
  if (tellsHealth(row)) return [];
  const told = (["resourceHeartbeats", "observedInventoryBatches"] as const).filter(
    (key) => (body[key] ?? []).length > 0,
  );
  return told.map((key) => ({ path: `body.${key}`, message: "must be left out: the deployment's heartbeats are off" }));
}

/** When the current release was installed, and how long that update took. */
function releaseColumns(row: DeploymentRow, next: Targeted, now: Date) {
  const changed = next.current_release_id !== row.current_release_id;
  const ended = next.update_state?.latest;
  const isNew = ended != null && ended.completedAt !== row.update_state?.latest?.completedAt;
  const brought = isNew && ended.status === "succeeded" && ended.reasons.includes("release");
  const durationMs =
    brought && ended.targetReleaseId === next.current_release_id
      ? Date.parse(ended.completedAt ?? ended.requestedAt) - Date.parse(ended.requestedAt)
      : undefined;
  return {
    ...(changed && { released_at: now, release_duration_ms: null }),
    ...(durationMs !== undefined && { release_duration_ms: durationMs }),
  };
}

/** Fields that the manager leaves out stay. The error is always replaced, so that a recovered deployment shows none. */
function stateColumns({ state }: ReconcileBody, environment: EnvironmentInfo | null | undefined) {
  const { stackState, runtimeMetadata, error } = state;
  return {
    error: error == null ? null : json(kept(error)),
    ...(stackState !== undefined && { stack_state: stackState === null ? null : json(kept(stackState)) }),
    ...(runtimeMetadata !== undefined && { runtime_metadata: runtimeMetadata === null ? null : json(runtimeMetadata) }),
    ...(environment !== undefined && {
      environment_info: environment === null ? null : json(environment),
      ...(regionOf(environment) !== null && { region: regionOf(environment) }),
    }),
  };
}

/** An observed deployment has no release; the version seen in its resources takes its place (§11.6). */
async function environmentOf(call: SyncCall, row: DeploymentRow, body: ReconcileBody) {
  const reported = body.state.environmentInfo;
  if (row.platform !== "kubernetes" || row.operator_permission !== "observe") return reported;
  if (reported === undefined && body.observedInventoryBatches === undefined) return undefined;
  const info = reported ?? row.environment_info ?? { platform: "kubernetes" as const };
  if (info.platform !== "kubernetes") return reported;
  return { ...info, observedVersion: (await observedVersion(call, row.id)) ?? null };
}

/** When a setup or an update reaches `running`, the desired variables are in use. */
function appliedConfiguration(row: DeploymentRow, to: DeploymentRow["status"]) {
  if (to !== "running" || row.status === "running" || row.status === "refresh-failed") return {};
  const { environment_variables: applied } = row;
  return { current_environment_variables: applied === null ? null : json(applied) };
}

function store(call: SyncCall, row: DeploymentRow, set: Parameters<typeof updateDeployment>[2]) {
  return Object.keys(set).length === 0 ? Promise.resolve(row) : updateDeployment(call.db, row.id, set);
}

async function writeEvents(
  call: SyncCall,
  before: DeploymentRow,
  after: DeploymentRow,
  body: ReconcileBody,
): Promise<void> {
  const { id: deploymentId, project_id: projectId, current_release_id: releaseId } = after;
  if (releaseId !== null && releaseId !== before.current_release_id) {
    const data = { deploymentId, previousReleaseId: before.current_release_id, releaseId };
    await call.emit({ type: "DeploymentReleased", projectId, deploymentId, releaseId, data });
  }
  const { stackState } = body.state;
  const stepped = stackState !== undefined && JSON.stringify(stackState) !== JSON.stringify(before.stack_state);
  if (after.deployment_model === "push" && stepped) {
    const data = { nextState: body.state.status, suggestedDelayMs: body.suggestedDelayMs ?? null };
    await call.emit({ type: "StackStep", projectId, deploymentId, data });
  }
  await statusChanged(call, before.status, after);
}
