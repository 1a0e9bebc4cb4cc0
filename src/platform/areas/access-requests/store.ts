import { type Expression, type SqlBool, sql } from "kysely";
import type { AccessRequestStatus } from "../../../contract/access-requests/access-requests.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import { statusIn } from "../../database/lapsing.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import { type PageRequest, paged } from "../../kernel/call/page.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { REPORT_GRACE_MS } from "./state.ts";

const SCOPE = { workspace: "access_requests.workspace_id", project: "access_requests.project_id" } as const;

export async function insertRequest(db: Db, row: AccessRequestRow): Promise<void> {
  await db
    .insertInto("access_requests")
    .values({ ...row, ...written(row), commands: json(row.commands), created_by: json(row.created_by) })
    .execute();
}

/** The request, if the caller may see it. */
export function findRequest(db: Db, principal: Principal, id: string): Promise<AccessRequestRow | undefined> {
  const query = db.selectFrom("access_requests").selectAll().where("id", "=", id);
  return query.where(visible(principal, SCOPE)).executeTakeFirst();
}

/** The request of a deployment that the caller has found in its own tenancy. */
export function findOfDeployment(db: Db, deploymentId: string, id: string): Promise<AccessRequestRow | undefined> {
  const query = db.selectFrom("access_requests").selectAll().where("id", "=", id);
  return query.where("deployment_id", "=", deploymentId).executeTakeFirst();
}

/** The request of a command. The platform itself stored that reference, so no tenancy is checked. */
export function findOwnerOf(db: Db, { access_request_id }: CommandRow): Promise<AccessRequestRow | undefined> {
  return db.selectFrom("access_requests").selectAll().where("id", "=", access_request_id).executeTakeFirst();
}

/** Updates every column that can change after creation. */
export async function updateRequest(db: Db, row: AccessRequestRow): Promise<void> {
  await db.updateTable("access_requests").set(written(row)).where("id", "=", row.id).execute();
}

function written(row: AccessRequestRow) {
  const { status, execution, approved_until, queued_at, stale_since, closed_at, updated_at } = row;
  return {
    ...{ status, execution, approved_until, queued_at, stale_since, closed_at, updated_at },
    decisions: json(row.decisions),
    materialized: row.materialized === null ? null : json(row.materialized),
    queued_by: row.queued_by === null ? null : json(row.queued_by),
  };
}

export interface RequestFilter {
  readonly projectId: string | undefined;
  readonly deploymentId: string | undefined;
  readonly statuses: readonly AccessRequestStatus[] | undefined;
  readonly remediationPlanId: string | undefined;
}

export function listRequests(
  db: Db,
  principal: Principal,
  { projectId, deploymentId, statuses, remediationPlanId }: RequestFilter,
  page: PageRequest,
  now: Date,
): Promise<AccessRequestRow[]> {
  return db
    .selectFrom("access_requests")
    .selectAll()
    .where(visible(principal, SCOPE))
    .$if(projectId !== undefined, (query) => query.where("project_id", "=", projectId ?? ""))
    .$if(deploymentId !== undefined, (query) => query.where("deployment_id", "=", deploymentId ?? ""))
    .$if(remediationPlanId !== undefined, (query) => query.where("remediation_plan_id", "=", remediationPlanId ?? ""))
    .$if(statuses !== undefined, (query) => query.where(statusIn("status", statusAsOf(now), statuses ?? [], LAPSE)))
    .$call(paged(page, "created_at", "id"))
    .execute();
}

const LAPSE = { from: ["pending-approval", "queued", "customer-approved"], to: "expired" } as const;

/** `hasLapsed` of state.ts in SQL. */
function lapsed(now: Date): Expression<SqlBool> {
  const graceStart = new Date(now.getTime() - REPORT_GRACE_MS);
  return sql<SqlBool>`(
    (status in ('pending-approval', 'queued') and decide_before <= ${graceStart})
    or (status = 'customer-approved' and execution in ('idle', 'running') and approved_until <= ${now}))`;
}

function statusAsOf(now: Date): Expression<AccessRequestStatus> {
  return sql<AccessRequestStatus>`case when ${lapsed(now)} then 'expired' else status end`;
}

/** Requests that time has ended but that are not stored as ended yet, oldest first. */
export function listLapsed(db: Db, now: Date, limit: number): Promise<AccessRequestRow[]> {
  const open = ["pending-approval", "queued", "customer-approved"] as const;
  const query = db.selectFrom("access_requests").selectAll().where("status", "in", open).where(lapsed(now));
  return query.orderBy("decide_before").limit(limit).execute();
}

/**
 * Requests that a manager may have to act on: queued ones, and those in the cluster that may have ended after
 * `closedSince`.
 */
export function listForManager(db: Db, deploymentId: string, closedSince: Date): Promise<AccessRequestRow[]> {
  return db
    .selectFrom("access_requests")
    .selectAll()
    .where("deployment_id", "=", deploymentId)
    .where((eb) =>
      eb.or([
        eb("status", "=", "queued"),
        eb.and([
          eb("materialized", "is not", null),
          eb.or([
            eb("closed_at", ">", closedSince),
            eb.and([eb("status", "=", "customer-approved"), eb("execution", "in", ["idle", "running"])]),
          ]),
        ]),
      ]),
    )
    .orderBy("created_at")
    .orderBy("id")
    .execute();
}

/** The commands of each of these requests. */
export async function commandsOf(db: Db, requestIds: readonly string[]): Promise<ReadonlyMap<string, CommandRow[]>> {
  if (requestIds.length === 0) return new Map();
  const rows = await db.selectFrom("commands").selectAll().where("access_request_id", "in", requestIds).execute();
  return Map.groupBy(rows, ({ access_request_id }) => access_request_id ?? "");
}
