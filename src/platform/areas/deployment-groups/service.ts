import {
  DEFAULT_MAX_DEPLOYMENTS,
  type DeploymentGroup,
} from "../../../contract/deployment-groups/deployment-groups.ts";
import type { DeploymentGroupRow } from "../../database/tables/deployment-groups.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { requireProject } from "../../kernel/tenancy/project-ref.ts";
import { countDeployments, groupsOf, insertGroup } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "workspaceId" | "budgets">;

export function toDeploymentGroup(row: DeploymentGroupRow): DeploymentGroup {
  return {
    id: row.id,
    name: row.name,
    externalId: row.external_id,
    projectId: row.project_id,
    workspaceId: row.workspace_id,
    maxDeployments: row.max_deployments,
    createdAt: row.created_at.toISOString(),
  };
}

/** @throws NOT_FOUND outside the caller's scope. */
export async function getGroup({ db, principal }: Pick<Call, "db" | "principal">, id: string) {
  const row = await groupsOf(db, principal).where("g.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("deployment group");
  return row;
}

export interface WantedGroup {
  readonly project: string;
  readonly name: string;
  readonly externalId?: string;
  readonly maxDeployments?: number;
}

/**
 * @throws NAME_TAKEN or EXTERNAL_ID_TAKEN. When two requests create the same name, the second transaction runs again
 * and then sees the first group.
 */
export async function createGroup(call: Context, wanted: WantedGroup): Promise<DeploymentGroupRow> {
  const { id: project } = await requireProject(call.db, call.principal, wanted.project);
  await refuseTaken(call, project, wanted);
  return insert(call, project, wanted);
}

/**
 * Finds the group by name or creates it. Concurrent calls get the same group, whose other settings stay as they are.
 */
export async function putGroupByName(call: Context, wanted: WantedGroup): Promise<DeploymentGroupRow> {
  const { id: project } = await requireProject(call.db, call.principal, wanted.project);
  return (await findBy(call, project, "name", wanted.name)) ?? insert(call, project, wanted);
}

export async function putGroupByExternalId(
  call: Context,
  wanted: WantedGroup & { readonly externalId: string },
): Promise<DeploymentGroupRow> {
  const { id: project } = await requireProject(call.db, call.principal, wanted.project);
  const found = await findBy(call, project, "external_id", wanted.externalId);
  if (found !== undefined) return found;
  await refuseTaken(call, project, { name: wanted.name });
  return insert(call, project, wanted);
}

export async function getGroupByExternalId(
  call: Context,
  ref: string | undefined,
  externalId: string,
): Promise<DeploymentGroupRow> {
  const { id: project } = await requireProject(call.db, call.principal, ref);
  const row = await groupsOf(call.db, call.principal)
    .where("g.project_id", "=", project)
    .where("g.external_id", "=", externalId)
    .executeTakeFirst();
  if (row === undefined) throw notFound("deployment group");
  return row;
}

export async function patchGroup(
  call: Context,
  id: string,
  body: { readonly name?: string; readonly maxDeployments?: number },
): Promise<DeploymentGroupRow> {
  const row = await getGroup(call, id);
  if (body.name !== undefined && body.name !== row.name) await refuseTaken(call, row.project_id, { name: body.name });
  return update(call, id, {
    name: body.name ?? row.name,
    max_deployments: body.maxDeployments ?? row.max_deployments,
  });
}

export async function setExternalId(call: Context, id: string, externalId: string | null): Promise<DeploymentGroupRow> {
  const row = await getGroup(call, id);
  if (externalId !== null && externalId !== row.external_id) await refuseTaken(call, row.project_id, { externalId });
  return update(call, id, { external_id: externalId });
}

/** @throws DEPLOYMENT_GROUP_NOT_EMPTY while it has deployments that are not `deleted`. */
export async function deleteGroup(call: Context, id: string): Promise<void> {
  await getGroup(call, id);
  if ((await countDeployments(call.db, id)) > 0) throw new PlatformError("DEPLOYMENT_GROUP_NOT_EMPTY");
  await call.db
    .updateTable("api_keys")
    .set({ revoked_at: call.now })
    .where("deployment_group_id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
  await call.db
    .deleteFrom("deployment_groups")
    .where("id", "=", id)
    .where("workspace_id", "=", call.workspaceId)
    .execute();
}

function findBy(call: Context, projectId: string, column: "name" | "external_id", value: string) {
  return call.db
    .selectFrom("deployment_groups")
    .selectAll()
    .where("workspace_id", "=", call.workspaceId)
    .where("project_id", "=", projectId)
    .where(column, "=", value)
    .executeTakeFirst();
}

async function refuseTaken(
  call: Context,
  projectId: string,
  wanted: { readonly name?: string; readonly externalId?: string },
): Promise<void> {
  if (wanted.name !== undefined && (await findBy(call, projectId, "name", wanted.name)) !== undefined) {
    throw new PlatformError("NAME_TAKEN");
  }
  if (
    wanted.externalId !== undefined &&
    (await findBy(call, projectId, "external_id", wanted.externalId)) !== undefined
  ) {
    throw new PlatformError("EXTERNAL_ID_TAKEN");
  }
}

/** @throws BUDGET_EXCEEDED */
async function insert(call: Context, projectId: string, wanted: WantedGroup): Promise<DeploymentGroupRow> {
  const { count } = await call.db
    .selectFrom("deployment_groups")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("project_id", "=", projectId)
    .executeTakeFirstOrThrow();
  call.budgets.require("project-groups", projectId, Number(count) + 1);
  return insertGroup(call.db, {
    id: newId("dg"),
    workspace_id: call.workspaceId,
    project_id: projectId,
    name: wanted.name,
    external_id: wanted.externalId ?? null,
    max_deployments: wanted.maxDeployments ?? DEFAULT_MAX_DEPLOYMENTS,
    created_at: call.now,
  });
}

function update(
  call: Context,
  id: string,
  set: Partial<Pick<DeploymentGroupRow, "name" | "max_deployments" | "external_id">>,
): Promise<DeploymentGroupRow> {
  return call.db
    .updateTable("deployment_groups")
    .set(set)
    .where("id", "=", id)
    .where("workspace_id", "=", call.workspaceId)
    .returningAll()
    .executeTakeFirstOrThrow();
}
