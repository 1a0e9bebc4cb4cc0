import type { Selectable } from "kysely";
import type { Cloud, ManagerSetupMethod, SetupResponse } from "../../../contract/managers/managers.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import { invalidTransition, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { seal } from "../../kernel/sealed.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { getGroup } from "../deployment-groups/service.ts";
import { deleteOwn, forgetOwn, retryOwn } from "./own-deployment.ts";
import { requireMove, setupStatusOf } from "./record/state.ts";
import { findManager, managersOf, type ReadManager, revokeManagerKeys } from "./record/store.ts";
import { refuseTwin, type Served, type ServedRequest, serveAnew, servedAs } from "./served.ts";
import { requireRegion } from "./setup/known-region.ts";
import { issueSetup, setupMethod } from "./setup/setup.ts";

/** The parts of a call that every rule here needs: the caller, the means and the time. */
export type Act = Pick<Call, "db" | "principal" | "config" | "now" | "emit" | "raise" | "hooks" | "budgets">;

export interface ManagerRequest extends ServedRequest {
  readonly name: string;
  readonly cloud: Cloud;
  readonly region: string;
  readonly setupMethod?: ManagerSetupMethod | undefined;
  readonly network?: "create" | "default" | undefined;
  readonly otlpConfig?: { readonly logsEndpoint: string; readonly logsAuthHeader: string } | undefined;
}

export async function listManagers({ db, principal, now }: Act, search: string, limit: number): Promise<ReadManager[]> {
  const rows = await managersOf(db, principal)
    .where("m.name", "ilike", `%${search.replace(/[\\%_]/g, "\\$&")}%`)
    .orderBy("m.is_system")
    .orderBy("m.name")
    .orderBy("m.id")
    .execute();
  return rows.filter((row) => setupStatusOf(row, now) !== "deleted").slice(0, limit);
}

export async function createManager(act: Act, request: ManagerRequest): Promise<SetupResponse> {
  const { db, principal, config, now } = act;
  const { name, cloud, region, otlpConfig } = request;
  const method = setupMethod(cloud, request.setupMethod);
  requireRegion(cloud, region, config.supportedRegions);
  const served = servedAs(request);
  await requireGroup(act, served);
  await refuseTwin(act, { ...served, workspace_id: principal.workspaceId, cloud, region });
  const manager = await db
    .insertInto("managers")
    .values({
      id: newId("mgr"),
      workspace_id: principal.workspaceId,
      name,
      cloud,
      region,
      targets: [cloud, "kubernetes", "machines"],
      setup_status: "pending",
      setup_method: method,
      setup_changed_at: now,
      management_configs: json({}),
      otlp_config: otlpConfig === undefined ? null : json(sealedOtlp(config, otlpConfig)),
      network: request.network ?? null,
      ...served,
      internal_project_id: newId("prj"),
      internal_group_id: newId("dg"),
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return issueSetup(act, manager, minterOf(principal));
}

/** Changes what the manager serves. */
export async function patchManager(act: Act, id: string, request: ServedRequest): Promise<ReadManager> {
  const manager = await findManager(act.db, act.principal, id);
  const served = servedAs(request, manager);
  await requireGroup(act, served);
  await serveAnew(act, manager, served);
  return findManager(act.db, act.principal, id);
}

/** @throws NOT_FOUND for a group that does not belong to the workspace. */
async function requireGroup(act: Act, { deployment_group_id: id }: Served): Promise<void> {
  if (id !== null) await getGroup(act, id);
}

function sealedOtlp({ sealingKey }: CallConfig, otlp: { logsEndpoint: string; logsAuthHeader: string }) {
  return { logsEndpoint: otlp.logsEndpoint, sealedAuthHeader: seal(sealingKey, otlp.logsAuthHeader) };
}

function minterOf(principal: Principal): object | null {
  return principal.kind === "user" ? { id: principal.id, email: principal.email, image: null } : null;
}

/** Moves pending, failed → pending, with a new token. The new setup creates another deployment than the one before. */
export async function renewSetup(act: Act, id: string): Promise<SetupResponse> {
  return setUpAgain(act, await findManager(act.db, act.principal, id));
}

async function setUpAgain(act: Act, manager: ReadManager): Promise<SetupResponse> {
  const { db, principal, now } = act;
  const from = requireMove(manager, ["pending", "failed"], "pending", now);
  // Created by the server's own command together with its key: there is nothing to set up.
  if (manager.internal_group_id === null) throw invalidTransition(from, "pending", []);
  await forgetOwn(db, manager.id, now);
  await db
    .updateTable("managers")
    .set({ setup_status: "pending", setup_changed_at: now, internal_deployment_id: null })
    .where("id", "=", manager.id)
    .execute();
  return issueSetup(act, manager, minterOf(principal));
}

/** Before the bootstrap: starts a new setup. After it: retries the deployment that the manager runs as. */
export async function retrySetup(act: Act, id: string) {
  const manager = await findManager(act.db, act.principal, id);
  const deploymentId = manager.internal_deployment_id;
  if (deploymentId === null) {
    return { mode: "setup" as const, ...(await setUpAgain(act, manager)) };
  }
  requireMove(manager, ["failed"], "provisioning", act.now);
  await retryOwn(act, deploymentId);
  await act.db
    .updateTable("managers")
    .set({ setup_status: "provisioning", setup_changed_at: act.now })
    .where("id", "=", id)
    .execute();
  return {
    mode: "deployment" as const,
    managerId: id,
    setupStatus: "provisioning" as const,
    deploymentId,
    message: "the manager's deployment is tried again",
  };
}

/** Removes a manager that was never bootstrapped, or whose setup has started again, with its keys. */
export async function cancelSetup({ db, principal, now }: Act, id: string): Promise<void> {
  const manager = await findManager(db, principal, id);
  const bootstrapped = manager.internal_deployment_id !== null;
  const from = requireMove(manager, bootstrapped ? ["pending"] : ["pending", "failed"], "removed", now);
  const use = useOf(manager);
  if (use !== undefined) {
    throw new PlatformError("INVALID_STATE_TRANSITION", {
      message: "deployments or projects wait for this manager",
      context: { from, to: "removed", allowed: [], ...use },
    });
  }
  await revokeManagerKeys(db, id, "both", now);
  await forgetManagers(db, [id]);
}

/** How many deployments and projects use the manager; undefined when none does. */
function useOf(manager: ReadManager): { readonly deployments: number; readonly defaultOfProjects: number } | undefined {
  const [deployments, defaultOfProjects] = [Number(manager.deployment_count), Number(manager.default_count)];
  return deployments === 0 && defaultOfProjects === 0 ? undefined : { deployments, defaultOfProjects };
}

/** Deletes the records of managers. Deleted deployments may be kept for longer, so clear their reference first. */
async function forgetManagers(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.updateTable("deployments").set({ manager_id: null }).where("manager_id", "in", ids).execute();
  await db.deleteFrom("work_feed").where("manager_id", "in", ids).execute();
  await db.deleteFrom("managers").where("id", "in", ids).execute();
}

/** Starts the deletion. The manager keeps its keys until it has removed its own deployment, or falls silent (§9). */
export async function deleteManager(act: Act, id: string): Promise<void> {
  const { db, principal, now } = act;
  const manager = await findManager(db, principal, id);
  const from = requireMove(manager, ["provisioning", "active", "failed", "deleting"], "deleting", now);
  const own = manager.internal_deployment_id;
  if (from === "deleting") return own === null ? undefined : deleteOwn(act, own);
  const use = useOf(manager);
  if (use !== undefined) throw new PlatformError("MANAGER_IN_USE", { context: use });
  await revokeManagerKeys(db, id, "setup", now);
  // The manager will not serve again: deployments that waited for it may get another one.
  await db
    .updateTable("deployments")
    .set({ previous_manager_id: null })
    .where("previous_manager_id", "=", id)
    .execute();
  await db
    .updateTable("managers")
    .set({ setup_status: "deleting", setup_changed_at: now })
    .where("id", "=", id)
    .execute();
  if (own !== null) await deleteOwn(act, own);
}

/** The record of a deleted manager is kept for ninety days (§0.10). */
const RECORD_KEPT_MS = 90 * 24 * 3600 * 1000;

/** Stores what reads compute: managers that fell silent while deleting lose their keys. Deletes old records. */
export async function sweepManagers(db: Db, now: Date): Promise<void> {
  const deleting = await db.selectFrom("managers").selectAll().where("setup_status", "=", "deleting").execute();
  for (const manager of deleting) await settleDeleted(db, manager, now);
  const old = await db
    .selectFrom("managers")
    .select("id")
    .where("setup_status", "=", "deleted")
    .where("setup_changed_at", "<", new Date(now.getTime() - RECORD_KEPT_MS))
    .execute();
  await forgetManagers(
    db,
    old.map(({ id }) => id),
  );
}

async function settleDeleted(
  db: Db,
  manager: Selectable<Parameters<typeof setupStatusOf>[0] & { id: string }>,
  now: Date,
) {
  if (setupStatusOf(manager, now) !== "deleted") return;
  await revokeManagerKeys(db, manager.id, "both", now);
  await forgetOwn(db, manager.id, now);
  await db
    .updateTable("managers")
    .set({ setup_status: "deleted", setup_changed_at: now })
    .where("id", "=", manager.id)
    .where("setup_status", "=", "deleting")
    .execute();
}
