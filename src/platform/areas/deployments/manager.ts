import { sql } from "kysely";
import { STALE_AFTER_MS } from "../../../contract/resource-heartbeat.ts";
import type { Call } from "../../kernel/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { type DeploymentRow, findServingManager } from "./store.ts";

type Owner = Pick<DeploymentRow, "workspace_id" | "project_id" | "platform">;

const BEST_FIRST: readonly string[] = ["healthy", "degraded", "unhealthy", "unknown"];

/**
 * The manager of a new deployment that names none (§12.2): the project's default for the platform, else an active
 * private one, else a system one; of equals the healthiest, then the one heard last.
 * @throws MANAGER_NOT_AVAILABLE
 */
export async function managerFor({ db, now }: Pick<Call, "db" | "now">, owner: Owner): Promise<string> {
  const project = await db
    .selectFrom("projects")
    .select("default_managers")
    .where("id", "=", owner.project_id)
    .executeTakeFirstOrThrow();
  const named = project.default_managers?.[owner.platform];
  const fallback = named == null ? undefined : await findServingManager(db, owner.workspace_id, named, owner.platform);
  if (fallback !== undefined) return fallback.id;
  const rows = await db
    .selectFrom("managers")
    .select(["id", "is_system", "status", "last_heartbeat_at"])
    .where((eb) => eb.or([eb("workspace_id", "=", owner.workspace_id), eb("is_system", "=", true)]))
    .where(sql<boolean>`coalesce(setup_status, 'active') = 'active'`)
    .where(sql<boolean>`${owner.platform} = any(targets)`)
    .execute();
  const ranked = rows
    .map((row) => ({ ...row, heardMs: row.last_heartbeat_at?.getTime() ?? 0 }))
    .map((row) => ({ ...row, rank: rankOf(now.getTime() - row.heardMs > STALE_AFTER_MS ? null : row.status) }))
    .sort((a, b) => Number(a.is_system) - Number(b.is_system) || a.rank - b.rank || b.heardMs - a.heardMs);
  const best = ranked[0];
  if (best === undefined) throw new PlatformError("MANAGER_NOT_AVAILABLE");
  return best.id;
}

function rankOf(status: string | null): number {
  return BEST_FIRST.indexOf(status ?? "unknown");
}
