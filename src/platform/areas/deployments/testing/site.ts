import { expect } from "vitest";
import { ROLES, type Role, scopeOf } from "../../../../contract/wire/roles.ts";
import type { Scope } from "../../../kernel/tenancy/principal.ts";
import type { Answer, CallOptions, TestWorkspace, World } from "../../../testing/harness.ts";

/** A workspace with a heard-of manager, a project and a group: the least that deployments need. */
export interface Site {
  readonly workspace: TestWorkspace;
  readonly admin: string;
  readonly member: string;
  readonly manager: { readonly id: string; readonly key: string };
  readonly project: { readonly id: string; readonly name: string };
  readonly group: { readonly id: string };
  /** As the member. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** As the manager. */
  sync(path: string, body: object): Promise<Answer>;
  deploy(name: string, more?: object): Promise<string>;
  /** A report of that status; pull deployments, no lease. */
  report(deploymentId: string, status: string, more?: object, state?: object): Promise<Answer>;
}

export async function newSite(world: World, maxDeployments = 100): Promise<Site> {
  const workspace = await world.workspace();
  const [admin, member, manager] = [
    await workspace.key("workspace.admin"),
    await workspace.key("workspace.member"),
    await workspace.manager(),
  ];
  await beat(world, manager);
  const call: Site["call"] = (method, path, options) => world.call(method, path, { key: member, ...options });
  const name = `project-${workspace.name}`;
  const project = (await call("POST", "/v1/projects", { body: { name } })).body;
  const body = { name: "group", project: name, maxDeployments };
  const group = (await call("POST", "/v1/deployment-groups", { body })).body;
  const sync: Site["sync"] = (path, body) => world.call("POST", `/v1/sync/${path}`, { key: manager.key, body });
  return {
    workspace,
    admin,
    member,
    manager,
    project,
    group,
    call,
    sync,
    async deploy(deployment, more) {
      const body = { name: deployment, platform: "kubernetes", project: name, deploymentGroupId: group.id, ...more };
      const answer = await call("POST", "/v1/deployments", { body: { managerId: manager.id, ...body } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body.deployment.id;
    },
    report: (deploymentId, status, more, state) =>
      sync("reconcile", {
        deploymentId,
        state: { status, platform: "kubernetes", protocolVersion: 1, ...state },
        ...more,
      }),
  };
}

/** A key of each role: for the site, for its group or manager, or for the deployment. */
export async function keysOfRoles(site: Site, deploymentId: string): Promise<Map<Role, string>> {
  const projectId = site.project.id;
  const scopes: Readonly<Record<string, Scope>> = {
    workspace: { type: "workspace" },
    project: { type: "project", projectId },
    deployment: { type: "deployment", deploymentId, projectId },
    "deployment-group": { type: "deployment-group", deploymentGroupId: site.group.id, projectId },
    manager: { type: "manager", managerId: site.manager.id },
  };
  const keys = new Map<Role, string>();
  for (const role of ROLES) keys.set(role, await site.workspace.key(role, scopes[scopeOf(role)]));
  return keys;
}

/** A manager is heard of: commands for its deployments are taken for the next 180 s. */
export async function beat(world: World, manager: { readonly id: string; readonly key: string }): Promise<void> {
  const body = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
  const answer = await world.call("POST", `/v1/managers/${manager.id}/heartbeat`, { key: manager.key, body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}
