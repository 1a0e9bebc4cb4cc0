import { join } from "node:path";
import { type Client as Api, createClient } from "../../src/api-client/client.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import { type RunningPlatform, startPlatform } from "../../src/platform/server.ts";
import { inMemory } from "../../src/platform/testing/empty-database.ts";
import { SHOP } from "./people.ts";
import { signal } from "./wait.ts";

/** A platform in the process of the test; of its data only files are in `folder`. */
export async function startPlatformInMemory(folder: string): Promise<RunningPlatform> {
  // In memory there is no folder beside the database: without this one nothing could be uploaded.
  return startPlatform({ database: await inMemory(), objects: { folder: join(folder, "objects") }, rateLimits: false });
}

/** A workspace of a platform, with a key of its admin. */
export async function newWorkspace(
  { bootstrap }: Pick<RunningPlatform, "bootstrap">,
  name = "acme",
): Promise<{ readonly workspaceId: string; readonly key: string }> {
  const { id: workspaceId } = await bootstrap.workspace(name);
  const { key } = await bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } });
  return { workspaceId, key };
}

/** What a vendor has on the platform for one customer, and the clients of its people. */
export interface Vendor {
  readonly engineer: Api;
  readonly vendorAdmin: Api;
  /** Of the engineer, for a command line of its own. */
  readonly engineerKey: string;
  readonly managerId: string;
  readonly projectId: string;
  readonly groupId: string;
  readonly deploymentId: string;
  readonly runtimeKey: string;
}

export async function newVendor({ bootstrap, url: baseUrl }: RunningPlatform): Promise<Vendor> {
  const { workspaceId, key: credential } = await newWorkspace({ bootstrap });
  const member = { workspaceId, role: "workspace.member", scope: { type: "workspace" } } as const;
  const { key: engineerKey } = await bootstrap.key(member);
  const vendorAdmin = createClient({ baseUrl, credential });
  const engineer = createClient({ baseUrl, credential: engineerKey });
  const { id: projectId } = await vendorAdmin.projects.create({ body: { name: "storefront" } }, signal());
  const group = { name: "customer-one", project: projectId };
  const { id: groupId } = await vendorAdmin.deploymentGroups.create({ body: group }, signal());
  const manager = await bootstrap.manager({ workspaceId, name: "customer-one", deploymentGroupId: groupId });
  const rules = [{ pattern: "kubernetes/get-pods", decision: "auto" as const }];
  await vendorAdmin.operations.putPolicy({ query: { project: projectId }, body: { rules } }, signal());
  const where = { deploymentGroupId: groupId, managerId: manager.id, operatorPermission: "manage" as const };
  const body = { name: "customer-one", platform: "kubernetes" as const, project: projectId, ...where };
  const { deployment } = await vendorAdmin.deployments.create({ body }, signal());
  return {
    ...{ engineer, vendorAdmin, engineerKey, projectId, groupId },
    ...{ managerId: manager.id, deploymentId: deployment.id, runtimeKey: manager.key },
  };
}

/** Queues a request to scale a workload of the shop, as the engineer. */
export async function askToScale(
  { engineer, deploymentId }: Pick<Vendor, "engineer" | "deploymentId">,
  replicas: number,
  name = "web",
): Promise<AccessRequest> {
  const params = { namespace: SHOP, kind: "deployment", name, replicas };
  const commands = [{ command: "kubernetes/scale", summary: `to ${replicas}`, params }];
  const body = { deploymentId, remediationPlanId: `to-${replicas}`, title: "Scale the shop", commands };
  const { id } = await engineer.accessRequests.create({ body }, signal());
  return engineer.accessRequests.queue({ params: { id } }, signal());
}
