import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { Compile } from "typebox/compile";
import {
  KUBERNETES_DATA,
  type ObservedInventoryBatch,
  type ResourceHeartbeat,
} from "../../../contract/resources/resource-heartbeat.ts";
import { json } from "../../database/json.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { Issue } from "../../kernel/errors.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";

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
function capped(observedAt: string, now: Date): Date {
  const at = new Date(observedAt);
  return at > now ? now : at;
}

/** Stores the latest report of each resource and ignores older ones. */
export async function storeHeartbeats(
  { db, now }: Context,
  deploymentId: string,
  heartbeats: readonly ResourceHeartbeat[],
): Promise<void> {
  for (const heartbeat of heartbeats) {
    const row = {
      observed_at: capped(heartbeat.observedAt, now),
      body: json(kept(heartbeat)),
      bytes: bytesOf(heartbeat),
    };
    await db
      .insertInto("resource_heartbeats")
      .values({
        deployment_id: deploymentId,
        resource_type: heartbeat.resourceType,
        resource_id: heartbeat.resourceId,
        ...row,
      })
      .onConflict((conflict) =>
        conflict
          .columns(["deployment_id", "resource_type", "resource_id"])
          .doUpdateSet(row)
          .where("resource_heartbeats.observed_at", "<=", row.observed_at),
      )
      .execute();
  }
}

/**
 * §11.6: in a scope the newer list counts. A complete list removes resources that it does not name, once all its parts
 * have arrived.
 */
export async function storeInventory(
  call: Context,
  deploymentId: string,
  batches: readonly ObservedInventoryBatch[],
): Promise<void> {
  for (const batch of batches) await storeBatch(call, deploymentId, batch);
}

/** Rows in one statement: with one statement each, five hundred rows took a second. */
const ROWS_A_STATEMENT = 100;

async function storeBatch({ db, now }: Context, deploymentId: string, batch: ObservedInventoryBatch): Promise<void> {
  const at = capped(batch.observedAt, now);
  const scope = {
    deployment_id: deploymentId,
    source_kind: batch.sourceKind,
    inventory_scope: batch.inventoryScope,
  };
  const known = await db
    .selectFrom("inventory_scopes")
    .selectAll()
    .where("deployment_id", "=", deploymentId)
    .where("source_kind", "=", batch.sourceKind)
    .where("inventory_scope", "=", batch.inventoryScope)
    .executeTakeFirst();
  if (known !== undefined && at < known.observed_at) return;
  const sameList = known?.observed_at.getTime() === at.getTime();
  const index = batch.part?.index ?? 0;
  const parts = [...new Set([...(sameList ? known.parts : []), index])];
  const complete = batch.complete && (!sameList || known.complete);
  const { controllerPlatform: controller_platform, backend } = batch;
  const state = { controller_platform, backend, observed_at: at, complete, parts };
  await db
    .insertInto("inventory_scopes")
    .values({ ...scope, ...state })
    .onConflict((conflict) => conflict.columns(["deployment_id", "source_kind", "inventory_scope"]).doUpdateSet(state))
    .execute();
  // A resource named twice: the last entry counts, because one statement must not write a row twice.
  const reported = new Map(batch.resources.map((resource) => [resource.rawIdentity, resource]));
  const rows = [...reported.values()].map((resource) => ({
    ...scope,
    raw_identity: resource.rawIdentity,
    observed_at: at,
    body: json(kept(resource)),
    bytes: bytesOf(resource),
    removed_at: null,
  }));
  for (let from = 0; from < rows.length; from += ROWS_A_STATEMENT) {
    await db
      .insertInto("inventory_rows")
      .values(rows.slice(from, from + ROWS_A_STATEMENT))
      .onConflict((conflict) =>
        conflict.columns(["deployment_id", "source_kind", "inventory_scope", "raw_identity"]).doUpdateSet((eb) => ({
          observed_at: eb.ref("excluded.observed_at"),
          body: eb.ref("excluded.body"),
          bytes: eb.ref("excluded.bytes"),
          removed_at: eb.ref("excluded.removed_at"),
        })),
      )
      .execute();
    // The embedded database runs in this process: let other requests run between the statements.
    await setImmediate();
  }
  if (!complete || parts.length < (batch.part?.count ?? 1)) return;
  await db
    .updateTable("inventory_rows")
    .set({ removed_at: now })
    .where("deployment_id", "=", deploymentId)
    .where("source_kind", "=", batch.sourceKind)
    .where("inventory_scope", "=", batch.inventoryScope)
    .where("observed_at", "<", at)
    .where("removed_at", "is", null)
    .execute();
}

/** The version that all observed resources have; undefined when none has one, or they differ (§11.6). */
export async function observedVersion({ db }: Pick<Call, "db">, deploymentId: string): Promise<string | undefined> {
  const version = sql<string | null>`body ->> 'version'`;
  const rows = await db
    .selectFrom("inventory_rows")
    .select(version.as("version"))
    .distinct()
    .where("deployment_id", "=", deploymentId)
    .where("removed_at", "is", null)
    .where(version, "is not", null)
    .limit(2)
    .execute();
  return rows.length === 1 ? (rows[0]?.version ?? undefined) : undefined;
}
