import { sql } from "kysely";
import { Compile } from "typebox/compile";
import {
  KUBERNETES_DATA,
  type RemovedHeartbeat,
  type ResourceHeartbeat,
} from "../../../contract/resources/resource-heartbeat.ts";
import { heartbeatHash } from "../../../contract/resources/resource-level.ts";
import { json } from "../../database/json.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { Issue } from "../../kernel/errors.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";

type Context = Pick<Call, "db" | "now">;

const DATA_CHECKS = new Map(Object.entries(KUBERNETES_DATA).map(([type, schema]) => [type, Compile(schema)]));

/**
 * Checks what the schema of a heartbeat cannot: that its data fits the type and backend, and that it belongs to the
 * deployment.
 */
export function heartbeatIssues(deploymentId: string, heartbeats: readonly ResourceHeartbeat[]): readonly Issue[] {
  return heartbeats.flatMap((heartbeat, index) => {
    const path = `body.resourceHeartbeats.${index}`;
    const { resourceType, data } = heartbeat.data;
    const issues: Issue[] = [];
    if (heartbeat.deploymentId != null && heartbeat.deploymentId !== deploymentId) {
      issues.push({ path: `${path}.deploymentId`, message: "is another deployment's" });
    }
    if (resourceType !== heartbeat.resourceType) {
      issues.push({ path: `${path}.data.resourceType`, message: "differs from the heartbeat's resourceType" });
    }
    const check = heartbeat.backend === "kubernetes" ? DATA_CHECKS.get(resourceType) : undefined;
    const [error] = check?.Check(data) === false ? check.Errors(data) : [];
    if (error !== undefined) {
      const inner = error.instancePath.replaceAll("/", ".");
      issues.push({ path: `${path}.data.data${inner}`, message: `of a ${resourceType} ${error.message}` });
    }
    return issues;
  });
}

/** A clock that is ahead must not make a report look fresh for longer (§11.1). */
export function capped(observedAt: string, now: Date): Date {
  const at = new Date(observedAt);
  return at > now ? now : at;
}

/**
 * Stores the latest report of each resource in one statement, and ignores older ones. One that the reporter cannot read is
 * as old as it was when it could, or as this report where nothing was known.
 */
export async function storeHeartbeats(
  { db, now }: Context,
  deploymentId: string,
  heartbeats: readonly ResourceHeartbeat[],
): Promise<void> {
  if (heartbeats.length === 0) return;
  const latest = new Map<string, ResourceHeartbeat>();
  for (const heartbeat of heartbeats) {
    const key = JSON.stringify([heartbeat.resourceType, heartbeat.resourceId]);
    const before = latest.get(key);
    if (before === undefined || before.observedAt <= heartbeat.observedAt) latest.set(key, heartbeat);
  }
  const rows = [...latest.values()].map((heartbeat) => ({
    resource_type: heartbeat.resourceType,
    resource_id: heartbeat.resourceId,
    observed_at: capped(heartbeat.observedAt, now),
    told_at: heartbeat.observedAt,
    hash: String(heartbeatHash(heartbeat)),
    bytes: bytesOf(heartbeat),
    body: heartbeat,
  }));
  await sql`
    insert into resource_heartbeats as h
      (deployment_id, resource_type, resource_id, observed_at, told_at, hash, bytes, body, stale_since, removed_at)
    select ${deploymentId}, r.*,
      case when r.body #>> '{data,data,status,stale}' = 'true' then least(known.observed_at, r.observed_at) end,
      null::timestamptz
    from jsonb_to_recordset(${json(rows)}) as r (resource_type text, resource_id text, observed_at timestamptz,
      told_at timestamptz, hash bigint, bytes integer, body jsonb)
    left join live_heartbeats known on known.deployment_id = ${deploymentId}
      and known.resource_type = r.resource_type and known.resource_id = r.resource_id
    on conflict (deployment_id, resource_type, resource_id) do update set
      observed_at = excluded.observed_at, told_at = excluded.told_at, hash = excluded.hash, bytes = excluded.bytes,
      body = excluded.body, stale_since = excluded.stale_since, removed_at = null, kept = false
    where h.observed_at <= excluded.observed_at`.execute(db);
}

/**
 * Heartbeats that have ended.
 *
 * @param observedAt of the report: an older one that comes late brings none back, and a newer one of the resource stays.
 *   Undefined: the report has no time.
 */
export async function removeHeartbeats(
  { db, now }: Context,
  deploymentId: string,
  removed: readonly RemovedHeartbeat[],
  observedAt: string | undefined,
): Promise<void> {
  if (removed.length === 0) return;
  const at = observedAt === undefined ? null : capped(observedAt, now);
  await sql`
    update resource_heartbeats h set removed_at = ${now}, observed_at = greatest(h.observed_at, ${at}::timestamptz)
    from jsonb_to_recordset(${json(removed)}) as r ("resourceType" text, "resourceId" text)
    where h.deployment_id = ${deploymentId} and h.resource_type = r."resourceType" and h.resource_id = r."resourceId"
      and h.removed_at is null and (${at}::timestamptz is null or h.observed_at <= ${at}::timestamptz)`.execute(db);
}

/**
 * A list that the reporter could not read has a row of the heartbeat's object, which is stored still: nothing says that it
 * is gone. Over `h`.
 */
const UNREAD = sql<boolean>`exists (
  select from inventory_rows i join inventory_scopes s using (deployment_id, source_kind, inventory_scope)
  where i.deployment_id = h.deployment_id and i.removed_at is null and i.body ->> 'managedResourceId' = h.resource_id
    and s.source_kind = 'operator' and not s.complete)`;

/**
 * After a full report: heartbeats and the operator's lists that were not in it have ended. Newer ones have not: after a
 * fail-over the reporter's clock may be behind. A heartbeat from a list that could not be read is kept, as old as it was:
 * a reporter that was restarted does not know of it, and the right to read the list may come back.
 */
export async function removeUntold({ db, now }: Context, deploymentId: string, observedAt: string): Promise<void> {
  const at = capped(observedAt, now);
  const untold = sql<boolean>`told_at is distinct from ${observedAt}::timestamptz and observed_at <= ${at}`;
  await db
    .deleteFrom("inventory_scopes")
    .where("deployment_id", "=", deploymentId)
    .where("source_kind", "=", "operator")
    .where(untold)
    .execute();
  await sql`
    update resource_heartbeats h set kept = true, stale_since = live.observed_at
    from live_heartbeats live
    where h.deployment_id = ${deploymentId} and h.removed_at is null and not h.kept
      and h.told_at is distinct from ${observedAt}::timestamptz and h.observed_at <= ${at}
      and live.deployment_id = h.deployment_id and live.resource_type = h.resource_type
      and live.resource_id = h.resource_id and ${UNREAD}`.execute(db);
  await db
    .updateTable("resource_heartbeats")
    // As of the report: an older heartbeat that comes late brings none back.
    .set({ removed_at: now, observed_at: at })
    .where("deployment_id", "=", deploymentId)
    .where("removed_at", "is", null)
    .where("kept", "=", false)
    .where(untold)
    .execute();
}

/** Heartbeats whose list can be read again and does not have them, or is gone. One that was told again is kept no more. */
export async function endKept({ db, now }: Context, deploymentId: string): Promise<void> {
  await sql`
    update resource_heartbeats h set removed_at = ${now}, kept = false
    where h.deployment_id = ${deploymentId} and h.removed_at is null and h.kept and not ${UNREAD}`.execute(db);
}

/** The version that all observed resources have; undefined when none has one, or they differ (§11.6). */
export async function observedVersion({ db }: Pick<Call, "db">, deploymentId: string): Promise<string | undefined> {
  const version = sql<string | null>`body ->> 'version'`;
  const rows = await db
    .selectFrom("live_inventory")
    .select(version.as("version"))
    .distinct()
    .where("deployment_id", "=", deploymentId)
    .where(version, "is not", null)
    .limit(2)
    .execute();
  return rows.length === 1 ? (rows[0]?.version ?? undefined) : undefined;
}
