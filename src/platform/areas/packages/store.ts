import { type Expression, type RawBuilder, type Selectable, type SqlBool, sql, type UpdateObject } from "kysely";
import { MAX_BUILD_RETRIES } from "../../../contract/packages/package-builder.ts";
import type { Package, PackageStatus } from "../../../contract/packages/packages.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Database, Db } from "../../database/db.ts";
import { statusIn } from "../../database/lapsing.ts";
import type { Kept } from "../../database/tables/kept.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import { type Principal, scopeOfPrincipal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { kept, shown } from "../../kernel/tenancy/stored-error.ts";
import { isAbandoned } from "./state.ts";

/** The packages that the caller may see. A group token sees those of its project, because the portal shows them. */
export function packagesOf(db: Db, principal: Principal) {
  return db.selectFrom("packages as k").selectAll("k").where(inReach(principal));
}

function inReach(principal: Principal): Expression<SqlBool> {
  const scope = scopeOfPrincipal(principal);
  if (scope.type === "deployment-group") {
    return sql<SqlBool>`k.workspace_id = ${principal.workspaceId} and k.project_id = ${scope.projectId}`;
  }
  return visible(principal, { workspace: "k.workspace_id", project: "k.project_id" });
}

/**
 * The packages that the caller may build: a system manager all, a workspace key those of its workspace, other managers
 * none.
 */
export function buildable(principal: Principal): Expression<SqlBool> {
  if (principal.role === "workspace.admin") return sql<SqlBool>`k.workspace_id = ${principal.workspaceId}`;
  const system = principal.kind === "serviceAccount" && principal.system;
  return system ? sql<SqlBool>`true` : sql<SqlBool>`false`;
}

/** `isAbandoned` in SQL. */
export function abandoned(now: Date): Expression<SqlBool> {
  return sql<SqlBool>`(k.status = 'building' and k.retries >= ${MAX_BUILD_RETRIES} and k.lease_expires_at <= ${now})`;
}

/** The status that readers see. */
function statusAsOf(now: Date): RawBuilder<PackageStatus> {
  return sql<PackageStatus>`case when ${abandoned(now)} then 'failed' else k.status end`;
}

/** The condition for packages that have the status at `now`. */
export function statusIs(wanted: PackageStatus, now: Date): Expression<SqlBool> {
  return statusIn("k.status", statusAsOf(now), [wanted], { from: ["building"], to: "failed" });
}

export function updatePackage(db: Db, id: string, set: UpdateObject<Database, "packages">): Promise<PackageRow> {
  return db.updateTable("packages").set(set).where("id", "=", id).returningAll().executeTakeFirstOrThrow();
}

export const ABANDONED: Kept<StoredError> = kept({
  code: "PACKAGE_BUILD_ABANDONED",
  message: "Every builder that took the package fell silent.",
  internal: false,
  retryable: false,
});

/** The version in the form that is indexed. */
export const VERSION: RawBuilder<string> = sql<string>`('1.0.' || k.number::text)`;

export function versionOf({ number }: Pick<PackageRow, "number">): string {
  return `1.0.${number}`;
}

export function toPackage(row: Selectable<PackageRow>, principal: Principal, now: Date): Package {
  const lost = isAbandoned(row, now);
  return {
    id: row.id,
    projectId: row.project_id,
    workspaceId: row.workspace_id,
    type: row.type,
    status: lost ? "failed" : row.status,
    version: versionOf(row),
    sourceReleaseId: row.source_release_id,
    setupFingerprints: row.setup_fingerprints,
    packageBuildInputHash: row.build_input_hash,
    config: row.config,
    outputs: row.status === "ready" ? row.outputs : null,
    error: shown(lost ? ABANDONED : row.error, principal),
    sourceBinarySha256: row.source_binary_sha256,
    retries: row.retries,
    lockedAt: row.locked_at?.toISOString() ?? null,
    lockedBy: row.locked_by,
    leaseExpiresAt: lost ? null : (row.lease_expires_at?.toISOString() ?? null),
    buildPhase: lost ? null : row.build_phase,
    lastProgressAt: row.last_progress_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    completedAt: (lost ? row.lease_expires_at : row.completed_at)?.toISOString() ?? null,
  };
}

/**
 * The given keys whose package is ready, or may still become ready. An operator's image that is ready and names no
 * archive has none any more.
 */
export async function namedPackages(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const idOf = (key: string): string => key.split("/")[1] ?? "";
  const rows = await db
    .selectFrom("packages")
    .select("id")
    .where("id", "in", keys.map(idOf))
    .where("status", "not in", ["failed", "canceled"])
    .where(sql<SqlBool>`(type <> 'operator-image' or status <> 'ready' or outputs ->> 'archive' is not null)`)
    .execute();
  const ids = new Set(rows.map(({ id }) => id));
  return new Set(keys.filter((key) => ids.has(idOf(key))));
}
