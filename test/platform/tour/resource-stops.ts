import type { ResourceHeartbeat } from "../../../src/contract/resources/resource-heartbeat.ts";
import type { Routes } from "../../../src/contract/table.ts";
import type { Stage, Stops } from "./stage.ts";

/** A deployment whose manager has reported a container `web`. */
async function reported({ runtime, site, fresh, world, signal }: Stage): Promise<string> {
  const deploymentId = await site.deploy(fresh("reported"));
  const status = { health: "healthy", lifecycle: "running", message: null, partial: false, stale: false } as const;
  const data = {
    status: { ...status, collectionIssues: [] },
    backend: "kubernetes",
    namespace: "web",
    name: "web",
    workloadKind: "deployment",
    replicas: { desired: 1, ready: 1 },
    pods: [],
    events: [],
  };
  const heartbeat = {
    resourceId: "web",
    resourceType: "container",
    controllerPlatform: "kubernetes",
    backend: "kubernetes",
    observedAt: world.clock.wallNow().toISOString(),
    data: { resourceType: "container", data },
    raw: [],
  } satisfies ResourceHeartbeat;
  const state = { status: "pending", platform: "kubernetes", protocolVersion: 1 } as const;
  await runtime.sync.reconcile({ body: { deploymentId, state, resourceHeartbeats: [heartbeat] } }, signal);
  return deploymentId;
}

export const resourceStops: Stops<Routes["resources"]> = {
  async list(stage) {
    await reported(stage);
    return stage.admin.resources.list({ query: { project: stage.project } }, stage.signal);
  },
  async listOfType(stage) {
    await reported(stage);
    const args = { params: { resourceType: "container" as const }, query: { project: stage.project } };
    return stage.admin.resources.listOfType(args, stage.signal);
  },
  async deployments(stage) {
    await reported(stage);
    const params = { resourceType: "container" as const, resourceId: "web" };
    return stage.admin.resources.deployments({ params, query: { project: stage.project } }, stage.signal);
  },
  async get(stage) {
    const params = { resourceType: "container" as const, deploymentId: await reported(stage), resourceId: "web" };
    return stage.admin.resources.get({ params, query: { project: stage.project } }, stage.signal);
  },
};
