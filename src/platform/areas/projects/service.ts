import type { Static } from "typebox";
import type { Project, projectRoutes } from "../../../contract/projects/projects.ts";
import { json } from "../../database/json.ts";
import type { ProjectRow } from "../../database/tables/projects.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { requireProject } from "../../kernel/tenancy/project-ref.ts";
import { deploymentCounts, servingManagers } from "./store.ts";

type Body<K extends "create" | "patch"> = Static<(typeof projectRoutes)[K]["body"]>;
type Context = Pick<Call, "db" | "now" | "principal" | "workspaceId" | "budgets">;

export function toProject(row: ProjectRow): Project {
  return {
    id: row.id,
    name: row.name,
    workspaceId: row.workspace_id,
    gitRepository: row.git_repository,
    rootDirectory: row.root_directory,
    deploymentPortalAppearance: row.deployment_portal_appearance,
    packagesConfig: row.packages_config,
    defaultManagers: row.default_managers,
    enabledCapabilities: row.enabled_capabilities,
    createdAt: row.created_at.toISOString(),
  };
}

/** @throws NOT_FOUND when the caller sees no project with that id or name. */
export async function getProject({ db, principal }: Pick<Call, "db" | "principal">, ref: string): Promise<ProjectRow> {
  const { id } = await requireProject(db, principal, ref);
  const row = await db.selectFrom("projects").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("project");
  return row;
}

export async function createProject(call: Context, body: Body<"create">): Promise<ProjectRow> {
  const { db, workspaceId } = call;
  const { count } = await db
    .selectFrom("projects")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  call.budgets.require("workspace-projects", workspaceId, Number(count) + 1);
  const row = await db
    .insertInto("projects")
    .values({
      id: newId("prj"),
      workspace_id: workspaceId,
      name: body.name,
      git_repository: nullableJson(body.gitRepository),
      root_directory: body.rootDirectory ?? null,
      deployment_portal_appearance: null,
      packages_config: nullableJson(body.packagesConfig),
      default_managers: null,
      enabled_capabilities: body.enabledCapabilities ?? ["deployments"],
      created_at: call.now,
    })
    .onConflict((conflict) => conflict.columns(["workspace_id", "name"]).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw new PlatformError("NAME_TAKEN");
  await db
    .insertInto("release_channels")
    .values({
      workspace_id: workspaceId,
      project_id: row.id,
      name: "production",
      current_release_id: null,
      created_at: call.now,
      updated_at: call.now,
    })
    .execute();
  return row;
}

export async function patchProject(call: Context, ref: string, body: Body<"patch">): Promise<ProjectRow> {
  const { id } = await requireProject(call.db, call.principal, ref);
  if (body.defaultManagers != null) await checkManagers(call, body.defaultManagers);
  const changes = {
    ...(body.gitRepository !== undefined && { git_repository: nullableJson(body.gitRepository) }),
    ...(body.rootDirectory !== undefined && { root_directory: body.rootDirectory }),
    ...(body.packagesConfig !== undefined && { packages_config: nullableJson(body.packagesConfig) }),
    ...(body.deploymentPortalAppearance !== undefined && {
      deployment_portal_appearance: nullableJson(body.deploymentPortalAppearance),
    }),
    ...(body.defaultManagers !== undefined && { default_managers: nullableJson(body.defaultManagers) }),
    ...(body.enabledCapabilities !== undefined && { enabled_capabilities: body.enabledCapabilities }),
  };
  if (Object.keys(changes).length === 0) return getProject(call, ref);
  return call.db
    .updateTable("projects")
    .set(changes)
    .where("id", "=", id)
    .where("workspace_id", "=", call.workspaceId)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Foreign keys delete releases, channels, groups, deleted deployments and commands too. API keys stay, revoked. */
export async function deleteProject(call: Context, ref: string): Promise<void> {
  const { id } = await requireProject(call.db, call.principal, ref);
  if (((await deploymentCounts(call.db, [id])).get(id) ?? 0) > 0) throw new PlatformError("PROJECT_NOT_EMPTY");
  await call.db
    .updateTable("api_keys")
    .set({ revoked_at: call.now })
    .where("project_id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
  await call.db.deleteFrom("projects").where("id", "=", id).where("workspace_id", "=", call.workspaceId).execute();
}

async function checkManagers(call: Context, managers: NonNullable<Body<"patch">["defaultManagers"]>): Promise<void> {
  const wanted = new Map(Object.entries(managers).filter((entry): entry is [string, string] => entry[1] != null));
  if (wanted.size === 0) return;
  const serving = await servingManagers(call.db, call.workspaceId, wanted);
  if ([...wanted.keys()].some((platform) => !serving.has(platform))) throw notFound("manager");
}

function nullableJson<T>(value: T | null | undefined) {
  return value == null ? null : json(value);
}
