import { expect } from "vitest";
import type { Answer, TestWorkspace, World } from "../../../testing/harness.ts";
import { beat } from "../../deployments/testing/site.ts";

/** One customer of a vendor: a deployment group, its token, and where it has one its manager. */
export interface Customer {
  readonly groupId: string;
  readonly token: string;
  readonly manager: { readonly id: string; readonly key: string };
}

/** A vendor with one project. Customers have a manager each, that is heard of, unless a test says otherwise. */
export interface Vendor {
  readonly workspace: TestWorkspace;
  readonly admin: string;
  readonly project: { readonly id: string; readonly name: string };
  as(key: string, method: string, path: string, body?: unknown): Promise<Answer>;
  /** Of the one project, or of another. */
  group(name: string, projectId?: string): Promise<{ readonly groupId: string; readonly token: string }>;
  customer(name: string, projectId?: string): Promise<Customer>;
  /** By a group's token, or another key that names the group; must be taken. */
  deploy(key: string, name: string, more?: object): Promise<{ id: string; managerId: string | null; token: string }>;
  /** `data` of each, newest first. */
  events(deploymentId: string): Promise<Answer["body"][]>;
}

export async function newVendor(world: World): Promise<Vendor> {
  const workspace = await world.workspace();
  const admin = await workspace.key("workspace.admin");
  const as: Vendor["as"] = (key, method, path, body) =>
    world.call(method, path, { key, ...(body !== undefined && { body }) });
  const project = (await as(admin, "POST", "/v1/projects", { name: `of-${workspace.name}` })).body;
  const group: Vendor["group"] = async (name, projectId = project.id) => {
    const made = await as(admin, "POST", "/v1/deployment-groups", { name, project: projectId, maxDeployments: 100 });
    expect(made.body.id, JSON.stringify(made.body)).toBeDefined();
    const scope = { type: "deployment-group", deploymentGroupId: made.body.id, projectId } as const;
    return { groupId: made.body.id, token: await workspace.key("deployment-group.deployer", scope) };
  };
  return {
    workspace,
    admin,
    project,
    as,
    group,
    async customer(name, projectId) {
      const made = await group(name, projectId);
      const manager = await workspace.manager({ deploymentGroupId: made.groupId });
      await beat(world, manager);
      return { ...made, manager };
    },
    async deploy(key, name, more = {}) {
      const { status, body } = await as(key, "POST", "/v1/deployments", { name, platform: "kubernetes", ...more });
      expect(status, JSON.stringify(body)).toBe(201);
      return { id: body.deployment.id, managerId: body.deployment.managerId ?? null, token: body.token };
    },
    async events(deploymentId) {
      const { body } = await world.call("GET", "/v1/events", { key: admin, query: { deploymentId } });
      return body.items.map(({ data }: Answer["body"]) => data);
    },
  };
}
