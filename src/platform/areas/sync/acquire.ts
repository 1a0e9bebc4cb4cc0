import { sql } from "kysely";
import type { Static } from "typebox";
import type { DeploymentStatus } from "../../../contract/deployment-state.ts";
import type { StoredError } from "../../../contract/stored-error.ts";
import type { AcquireItem, AcquireMode, syncRoutes } from "../../../contract/sync.ts";
import type { Call } from "../../kernel/call.ts";
import { visible } from "../../kernel/scope.ts";
import { statusChanged, targetColumns } from "../deployments/change.ts";
import { nextStatus } from "../deployments/status.ts";
import { type DeploymentRow, servedDeployments, updateDeployment, workedOnBy } from "../deployments/store.ts";
import { advance } from "../deployments/target.ts";
import { FREE, grant, holder } from "./lease.ts";
import { surroundingsOf, toItem } from "./work.ts";

export type AcquireBody = Static<(typeof syncRoutes)["acquire"]["body"]>;
export type SyncCall = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "config" | "budgets">;

export interface Acquired {
  readonly deployments: AcquireItem[];
  readonly failures: { deploymentId: string; projectId: string; error: StoredError }[];
  readonly leaseExpiresAt: string | null;
}

/** A repeat of one acquire within this time gives the same again, so that a lost answer costs nothing. */
const REPEAT_MS = 3_600_000;
/** A running deployment is looked at this often at most. */
const RUNNING_EVERY_MS = 60_000;

interface Eligible {
  readonly always: readonly DeploymentStatus[];
  readonly withRetry: readonly DeploymentStatus[];
}

const ELIGIBLE: Readonly<Record<AcquireMode, Eligible>> = {
  runtime: {
    always: [
      "pending",
      "initial-setup",
      "provisioning",
      "waiting-for-machines",
      "update-pending",
      "updating",
      "delete-pending",
      "deleting",
      "running",
    ],
    withRetry: [
      "preflights-failed",
      "initial-setup-failed",
      "provisioning-failed",
      "refresh-failed",
      "update-failed",
      "delete-failed",
    ],
  },
  "setup-run": { always: ["pending", "initial-setup"], withRetry: ["preflights-failed", "initial-setup-failed"] },
  "setup-teardown": { always: ["teardown-required"], withRetry: ["teardown-failed"] },
};

export async function acquire(call: SyncCall, managerId: string, body: AcquireBody): Promise<Acquired> {
  const repeated = await earlier(call, managerId, body);
  if (repeated !== undefined) return answer(call, repeated);
  const rows: DeploymentRow[] = [];
  for (const row of await candidates(call, body)) rows.push(await take(call, row, body.session));
  await remember(call, managerId, body, rows);
  return answer(call, rows);
}

/** What the same session got for the same request within the hour, as far as it still holds it. */
async function earlier(
  call: SyncCall,
  managerId: string,
  { session, requestId }: AcquireBody,
): Promise<DeploymentRow[] | undefined> {
  const record = await call.db
    .selectFrom("acquires")
    .select("deployment_ids")
    .where("manager_id", "=", managerId)
    .where("session", "=", session)
    .where("request_id", "=", requestId)
    .where("created_at", ">", new Date(call.now.getTime() - REPEAT_MS))
    .executeTakeFirst();
  if (record === undefined) return undefined;
  if (record.deployment_ids.length === 0) return [];
  const rows = await servedDeployments(call.db, call.principal).where("d.id", "in", record.deployment_ids).execute();
  const order = new Map(record.deployment_ids.map((id, index) => [id, index]));
  const held = rows.filter((row) => holder(row, call.now) === session);
  return held.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}

/**
 * Deployments with work for this mode, delete work first, then those not touched for longest. Rows that another
 * acquire holds locked are skipped: two sessions at once get different ones.
 */
function candidates({ db, now, principal }: SyncCall, body: AcquireBody): Promise<DeploymentRow[]> {
  const { always, withRetry } = ELIGIBLE[body.acquireMode ?? "runtime"];
  const before = new Date(now.getTime() - RUNNING_EVERY_MS);
  let found = db
    .selectFrom("deployments as d")
    .selectAll("d")
    .where(
      body.deploymentIds === undefined
        ? visible(principal, { workspace: "d.workspace_id", served: "d" })
        : workedOnBy(principal),
    )
    .where("d.deployment_model", "=", body.deploymentModel)
    .where((eb) => eb.or([eb("d.lease_expires_at", "is", null), eb("d.lease_expires_at", "<=", now)]))
    .where((eb) => eb.or([eb("d.next_step_after", "is", null), eb("d.next_step_after", "<=", now)]))
    .where((eb) =>
      eb.or([eb("d.status", "<>", "running"), eb("d.acquired_at", "is", null), eb("d.acquired_at", "<=", before)]),
    )
    .where((eb) =>
      eb.or([
        eb("d.status", "in", always),
        eb.and([eb("d.status", "in", withRetry), eb("d.retry_requested", "=", true)]),
      ]),
    );
  const { deploymentIds, statuses, platforms, setupMethod } = body;
  if (deploymentIds !== undefined) found = found.where("d.id", "in", [...deploymentIds, ""]);
  if (statuses !== undefined) found = found.where("d.status", "in", [...statuses, "" as never]);
  if (platforms !== undefined) found = found.where("d.platform", "in", [...platforms, "" as never]);
  if (setupMethod !== undefined) found = found.where("d.setup_method", "=", setupMethod);
  return found
    .orderBy(sql`d.status in ('delete-pending', 'deleting', 'delete-failed')`, "desc")
    .orderBy("d.updated_at")
    .orderBy("d.id")
    .limit(body.limit ?? 10)
    .forUpdate()
    .skipLocked()
    .execute();
}

/** Leases one, and does the status change that a retry has asked for. */
async function take(call: SyncCall, row: DeploymentRow, session: string): Promise<DeploymentRow> {
  const lease = { ...grant(session, call.now), acquired_at: call.now };
  const status = row.retry_requested ? nextStatus(row.status, { by: "retry" }) : undefined;
  if (status === undefined) return updateDeployment(call.db, row.id, lease);
  const next = targetColumns(advance(row, status, call.now));
  const set = { ...lease, ...next, retry_requested: false, error: null, updated_at: call.now };
  const stored = await updateDeployment(call.db, row.id, set);
  await statusChanged(call, row.status, stored);
  return stored;
}

async function remember(
  { db, now }: SyncCall,
  managerId: string,
  { session, requestId }: AcquireBody,
  rows: readonly DeploymentRow[],
): Promise<void> {
  const deployment_ids = rows.map(({ id }) => id);
  await db
    .insertInto("acquires")
    .values({ manager_id: managerId, session, request_id: requestId, deployment_ids, created_at: now })
    .onConflict((conflict) =>
      conflict.columns(["manager_id", "session", "request_id"]).doUpdateSet({ deployment_ids, created_at: now }),
    )
    .execute();
}

const NOT_COMPUTED: StoredError = {
  code: "INTERNAL_ERROR",
  message: "the deployment's configuration could not be computed",
  internal: true,
  retryable: true,
};

/** An item that cannot be computed is a failure, and its lease is gone at once. */
async function answer(call: SyncCall, rows: readonly DeploymentRow[]): Promise<Acquired> {
  const around = await surroundingsOf(call.db, rows, call.config.sealingKey);
  const deployments: AcquireItem[] = [];
  const failures: Acquired["failures"] = [];
  const leaseEnds: Date[] = [];
  for (const row of rows) {
    try {
      deployments.push(toItem(row, around));
      if (row.lease_expires_at !== null) leaseEnds.push(row.lease_expires_at);
    } catch {
      // Only decryption and stored shapes can fail here; the detail may hold a secret's fragment and is not kept.
      failures.push({ deploymentId: row.id, projectId: row.project_id, error: NOT_COMPUTED });
      await updateDeployment(call.db, row.id, FREE);
    }
  }
  const ends = leaseEnds.map((at) => at.getTime());
  return {
    deployments,
    failures,
    leaseExpiresAt: ends.length === 0 ? null : new Date(Math.min(...ends)).toISOString(),
  };
}
