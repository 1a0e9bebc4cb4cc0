import type { DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import type { Db } from "../../../database/db.ts";
import { json } from "../../../database/json.ts";
import { newId } from "../../../kernel/ids.ts";
import type { TestWorkspace, World } from "../../../testing/harness.ts";

/** A workspace with one project, one manager and one deployment, put there by SQL: how they come to be is not tested here. */
export interface Site {
  readonly workspace: TestWorkspace;
  readonly projectId: string;
  readonly projectName: string;
  readonly deploymentId: string;
  readonly managerId: string;
  /** Keys: an engineer, a reader, the manager. */
  readonly engineer: string;
  readonly viewer: string;
  readonly manager: string;
}

export async function newSite(world: World): Promise<Site> {
  const workspace = await world.workspace();
  const manager = await workspace.manager();
  const { projectId, projectName } = await insertProject(world.platform.db, workspace.id);
  const deploymentId = await insertDeployment(world.platform.db, {
    workspaceId: workspace.id,
    projectId,
    managerId: manager.id,
  });
  const engineer = await workspace.key("project.developer", { type: "project", projectId });
  const viewer = await workspace.key("workspace.viewer");
  return {
    workspace,
    projectId,
    projectName,
    deploymentId,
    managerId: manager.id,
    engineer,
    viewer,
    manager: manager.key,
  };
}

export async function insertProject(db: Db, workspaceId: string): Promise<{ projectId: string; projectName: string }> {
  const id = newId("prj");
  const name = id.replace("prj_", "p-").slice(0, 20);
  await db
    .insertInto("projects")
    .values({ id, workspace_id: workspaceId, name, enabled_capabilities: [], created_at: new Date() })
    .execute();
  return { projectId: id, projectName: name };
}

export async function insertDeployment(
  db: Db,
  site: { workspaceId: string; projectId: string; managerId: string | null; status?: DeploymentStatus },
): Promise<string> {
  const now = new Date();
  const groupId = newId("dg");
  const owner = { workspace_id: site.workspaceId, project_id: site.projectId };
  await db
    .insertInto("deployment_groups")
    .values({ ...owner, id: groupId, name: groupId.replace("dg_", "g-"), max_deployments: 10, created_at: now })
    .execute();
  const id = newId("dep");
  await db
    .insertInto("deployments")
    .values({
      ...owner,
      id,
      deployment_group_id: groupId,
      manager_id: site.managerId,
      name: "shop",
      platform: "kubernetes",
      purpose: "application",
      deployment_model: "pull",
      status: site.status ?? "running",
      retry_requested: false,
      release_channel: "production",
      stack_settings: json({}),
      input_values: json({}),
      lease_confirmed: false,
      created_at: now,
      updated_at: now,
    })
    .execute();
  return id;
}
