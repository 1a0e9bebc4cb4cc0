import { type Selectable, type SqlBool, sql } from "kysely";
import type {
  ManagementConfig,
  ManagementConfigs,
  Manager,
  ManagerMetrics,
} from "../../../contract/managers/managers.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { ManagerRow } from "../../database/tables/managers.ts";
import { invalid, notFound, PlatformError } from "../../kernel/errors.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { type ProjectRef, requireProject } from "../../kernel/tenancy/project-ref.ts";
import { serves } from "../../kernel/tenancy/serves.ts";
import { mintKey } from "../api-keys/mint.ts";
import { giveWaiting } from "../deployments/lifecycle/waiting.ts";
import { accessTokenLife, signAccessToken } from "./access-token.ts";
import { beginOwn } from "./own-deployment.ts";
import { requireMove, setupStatusOf } from "./record/state.ts";
import { requireManager, revokeManagerKeys } from "./record/store.ts";
import type { Act } from "./service.ts";

export interface Heartbeat {
  readonly status: "healthy" | "degraded" | "unhealthy";
  readonly url: string;
  readonly managementConfigs: ManagementConfigs;
  readonly version?: string | undefined;
  readonly metrics?: ManagerMetrics | undefined;
}

/** Stores a heartbeat, which replaces the one before. The first one that is not unhealthy completes the setup (§9). */
export async function takeHeartbeat(act: Act, id: string, beat: Heartbeat): Promise<void> {
  const { db, principal, now } = act;
  const manager = await requireManager(db, principal, id);
  // The manager was deleted because of its silence, but the sweep has not revoked its keys yet. It stays deleted,
  // because readers may have seen it so.
  if (setupStatusOf(manager, now) === "deleted") throw new PlatformError("API_KEY_REVOKED");
  requireSafeUrl(beat.url);
  const starts = manager.setup_status === "provisioning" && beat.status !== "unhealthy";
  if (starts) await revokeManagerKeys(db, id, "setup", now);
  await db
    .updateTable("managers")
    .set({
      status: beat.status,
      url: beat.url,
      management_configs: json(beat.managementConfigs),
      version: beat.version ?? null,
      metrics: beat.metrics === undefined ? null : json(beat.metrics),
      last_heartbeat_at: now,
      ...(starts && { setup_status: "active", setup_changed_at: now }),
    })
    .where("id", "=", id)
    .execute();
  // The manager serves from now on: give it the deployments that wait for it.
  if (starts) await giveWaiting(act, id);
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function requireSafeUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw invalid({ path: "body.url", message: "is not a URL" });
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname)) {
    throw invalid({ path: "body.url", message: "must be https, or http on a loopback address" });
  }
}

/** The reported configuration; for Kubernetes the only possible one. */
export function managementConfigOf(
  { management_configs: reported, targets }: Pick<Selectable<ManagerRow>, "management_configs" | "targets">,
  platform: Manager["targets"][number],
): ManagementConfig | undefined {
  const known: Readonly<Record<string, ManagementConfig>> = reported;
  if (platform === "kubernetes" && targets.includes("kubernetes")) return known.kubernetes ?? { platform };
  return known[platform];
}

/** A token for the manager's own API, for one project that the caller may read and the manager serves (§14.3). */
export async function accessToken(act: Act, id: string, projectRef: string) {
  const { db, principal, config, now } = act;
  const manager = await requireManager(db, principal, id);
  const project = await requireProject(db, principal, projectRef);
  if (!(await servesProject(db, id, project))) throw notFound("manager");
  if (manager.url === null) throw new PlatformError("MANAGER_NOT_READY");
  const claims = {
    iss: config.baseUrl,
    aud: manager.id,
    sub: principal.id,
    ws: project.workspaceId,
    prj: project.id,
    role: principal.role,
  };
  const seconds = accessTokenLife(principal.kind === "serviceAccount" ? principal.expiresAt : null, now);
  return {
    accessToken: await signAccessToken(db, config.sealingKey, claims, { now, seconds }),
    expiresIn: seconds,
    tokenType: "Bearer" as const,
    managerUrl: manager.url,
    databaseId: null,
    controlPlaneUrl: null,
  };
}

/** Whether the manager serves at least one group of the project, or every group that the project may get. */
async function servesProject(db: Db, id: string, { id: projectId, workspaceId }: ProjectRef): Promise<boolean> {
  const group = sql`exists (
    select from deployment_groups as g where g.project_id = ${projectId} and ${serves(sql.ref("g.id"), workspaceId)})`;
  const found = await db
    .selectFrom("managers as m")
    .select("m.id")
    .where("m.id", "=", id)
    .where(sql<SqlBool>`(${serves(null, workspaceId)} or ${group})`)
    .executeTakeFirst();
  return found !== undefined;
}

/**
 * Moves pending → provisioning and mints the runtime key. A repeated call revokes the key that the earlier call
 * returned (§14.5).
 */
export async function bootstrapManager(act: Act, id: string) {
  const { db, principal, now } = act;
  if (!isSetupTokenOf(principal, id)) throw notFound("manager");
  const manager = await db.selectFrom("managers").selectAll().where("id", "=", id).executeTakeFirst();
  if (manager === undefined) throw notFound("manager");
  const repeats = setupStatusOf(manager, now) === "provisioning";
  if (!repeats) requireMove(manager, ["pending"], "provisioning", now);
  if (manager.bootstrap_key_id !== null) {
    const earlier = db.updateTable("api_keys").set({ revoked_at: now }).where("id", "=", manager.bootstrap_key_id);
    await earlier.where("revoked_at", "is", null).execute();
  }
  const key = await mintKey(act, {
    workspaceId: manager.workspace_id,
    role: "manager.runtime",
    scope: { type: "manager", managerId: id },
    description: `runtime key of manager ${manager.name}`.slice(0, 128),
  });
  const deploymentId = manager.internal_deployment_id ?? (await beginOwn(db, manager, now));
  await db
    .updateTable("managers")
    .set({
      internal_deployment_id: deploymentId,
      bootstrap_key_id: key.row.id,
      setup_status: "provisioning",
      ...(!repeats && { setup_changed_at: now }),
    })
    .where("id", "=", id)
    .execute();
  return { key, deploymentId };
}

function isSetupTokenOf(principal: Principal, managerId: string): boolean {
  return principal.kind === "serviceAccount" && principal.setupFor === managerId;
}
