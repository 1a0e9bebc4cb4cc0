import { sql } from "kysely";
import type { Static } from "typebox";
import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import type { AcquireItem, AcquireMode, syncRoutes } from "../../../contract/deployments/sync.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { ANSWER_BYTES } from "../../kernel/call/page.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { statusChanged, targetColumns } from "../deployments/lifecycle/change.ts";
import { FREE, grant, holder } from "../deployments/lifecycle/lease.ts";
import { nextStatus } from "../deployments/lifecycle/status.ts";
import { advance } from "../deployments/lifecycle/target.ts";
import { servedDeployments, updateDeployment, workedOnBy } from "../deployments/read/store.ts";
import { surroundingsOf, toItem } from "./work.ts";

export type AcquireBody = Static<(typeof syncRoutes)["acquire"]["body"]>;
export type SyncCall = Pick<
  Call,
  "db" | "now" | "principal" | "emit" | "raise" | "hooks" | "config" | "budgets" | "onRefusal"
>;

export interface Acquired {
  readonly deployments: AcquireItem[];
  readonly failures: { deploymentId: string; projectId: string; error: StoredError }[];
  readonly leaseExpiresAt: string | null;
}

/** Within this time a repeated acquire returns the same deployments, so that a lost answer does no harm. */
const REPEAT_MS = 3_600_000;
/** A running deployment is handed out at most this often. */
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

/** Rows read at a time; each may have half a megabyte. */
const SLICE = 3;

/** Returns the row of a deployment that is leased to the session. */
type Leased = (id: string) => Promise<DeploymentRow>;

export async function acquire(call: SyncCall, managerId: string, body: AcquireBody): Promise<Acquired> {
  const rowOf: Leased = (id) =>
    call.db.selectFrom("deployments").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  const repeated = await earlier(call, managerId, body);
  const lease: Leased = repeated === undefined ? async (id) => take(call, await rowOf(id), body.session) : rowOf;
  const { taken, ...acquired } = await answer(call, repeated ?? (await candidates(call, body)), lease);
  if (repeated === undefined) await remember(call, managerId, body, taken);
  return acquired;
}

/** The deployments that the same session got for the same request within the hour, as far as it still holds them. */
async function earlier(
  call: SyncCall,
  managerId: string,
  { session, requestId }: AcquireBody,
): Promise<string[] | undefined> {
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
  const rows = await servedDeployments(call.db, call.principal)
    .where("d.id", "in", record.deployment_ids)
    .clearSelect()
    .select(["d.id", "d.lease_session", "d.lease_since", "d.lease_expires_at", "d.lease_confirmed"])
    .execute();
  const held = new Set(rows.filter((row) => holder(row, call.now) === session).map(({ id }) => id));
  return record.deployment_ids.filter((id) => held.has(id));
}

/**
 * Deployments with work for this mode: deletes first, then those not acquired for longest. Rows locked by another
 * acquire are skipped, so that two sessions at once get different ones.
 */
async function candidates({ db, now, principal }: SyncCall, body: AcquireBody): Promise<string[]> {
  const { always, withRetry } = ELIGIBLE[body.acquireMode ?? "runtime"];
  const before = new Date(now.getTime() - RUNNING_EVERY_MS);
  let found = db
    .selectFrom("deployments as d")
    .select("d.id")
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
  const rows = await found
    .orderBy(sql`d.status in ('delete-pending', 'deleting', 'delete-failed')`, "desc")
    .orderBy("d.updated_at")
    .orderBy("d.id")
    .limit(body.limit ?? 10)
    .forUpdate()
    .skipLocked()
    .execute();
  return rows.map(({ id }) => id);
}

/** Leases a deployment, and makes the status change that a requested retry needs. */
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
  { db, now, budgets }: SyncCall,
  managerId: string,
  { session, requestId }: AcquireBody,
  deployment_ids: string[],
): Promise<void> {
  await db
    .insertInto("acquires")
    .values({ manager_id: managerId, session, request_id: requestId, deployment_ids, created_at: now })
    .onConflict((conflict) =>
      conflict.columns(["manager_id", "session", "request_id"]).doUpdateSet({ deployment_ids, created_at: now }),
    )
    .execute();
  const of = db.selectFrom("acquires").where("manager_id", "=", managerId);
  const { held } = await of.select(sql<number>`count(*)::integer`.as("held")).executeTakeFirstOrThrow();
  if (budgets.fits("manager-acquires", held)) return;
  const oldest = of
    .select(["session", "request_id"])
    .orderBy("created_at", "desc")
    .orderBy("session")
    .orderBy("request_id")
    .offset(budgets.size("manager-acquires"));
  await db
    .deleteFrom("acquires")
    .where("manager_id", "=", managerId)
    .where((eb) => eb(eb.refTuple("session", "request_id"), "in", oldest.$asTuple("session", "request_id")))
    .execute();
}

const NOT_COMPUTED: StoredError = {
  code: "INTERNAL_ERROR",
  message: "the deployment's configuration could not be computed",
  internal: true,
  retryable: true,
};

/**
 * Leases as many deployments as fit into one answer; the next acquire gets the others. A deployment whose configuration
 * cannot be computed becomes a failure, and its lease is freed at once.
 */
async function answer(call: SyncCall, ids: readonly string[], leased: Leased): Promise<Acquired & { taken: string[] }> {
  const deployments: AcquireItem[] = [];
  const failures: Acquired["failures"] = [];
  const taken: string[] = [];
  const ends: number[] = [];
  for (let bytes = 0; taken.length < ids.length && bytes < ANSWER_BYTES; ) {
    const rows: DeploymentRow[] = [];
    for (const id of ids.slice(taken.length, taken.length + SLICE)) rows.push(await leased(id));
    const around = await surroundingsOf(call.db, rows, call.config.sealingKey);
    for (const row of rows) {
      taken.push(row.id);
      try {
        const item = toItem(row, around);
        deployments.push(item);
        bytes += bytesOf(item);
        if (row.lease_expires_at !== null) ends.push(row.lease_expires_at.getTime());
      } catch {
        // Only decryption and stored values can fail here. The error may contain a part of a secret, so it is not
        // stored.
        failures.push({ deploymentId: row.id, projectId: row.project_id, error: NOT_COMPUTED });
        await updateDeployment(call.db, row.id, FREE);
      }
    }
  }
  const leaseExpiresAt = ends.length === 0 ? null : new Date(Math.min(...ends)).toISOString();
  return { deployments, failures, leaseExpiresAt, taken };
}
