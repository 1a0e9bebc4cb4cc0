import type { Routes } from "../../../src/contract/table.ts";
import type { Stage, Stops } from "./stage.ts";

let regions = 0;
const DIRECTIONS = ["north", "south", "east", "west", "central"] as const;

/** One that no manager of the tour has yet. */
function newRegion(): string {
  regions += 1;
  return `eu-${DIRECTIONS[regions % DIRECTIONS.length]}-${1 + (Math.floor(regions / DIRECTIONS.length) % 9)}`;
}

/** A manager that is not set up yet. A workspace has one manager for each region of a cloud. */
async function fresh({ admin, fresh: name, signal }: Stage) {
  return admin.managers.create({ body: { name: name("manager"), cloud: "aws", region: newRegion() } }, signal);
}

export const managerStops: Stops<Routes["managers"]> = {
  list: ({ admin, signal }) => admin.managers.list({ query: { search: "manager" } }, signal),
  create: (stage) => fresh(stage),
  setupToken: async (stage) =>
    stage.admin.managers.setupToken({ params: { id: (await fresh(stage)).managerId } }, stage.signal),
  retry: async (stage) => stage.admin.managers.retry({ params: { id: (await fresh(stage)).managerId } }, stage.signal),
  cancelSetup: async (stage) =>
    stage.admin.managers.cancelSetup({ params: { id: (await fresh(stage)).managerId } }, stage.signal),
  get: ({ admin, manager, signal }) => admin.managers.get({ params: { id: manager } }, signal),
  async patch(stage) {
    const { managerId } = await fresh(stage);
    return stage.admin.managers.patch({ params: { id: managerId }, body: { shared: true } }, stage.signal);
  },
  async delete(stage) {
    const { managerId, setupToken } = await fresh(stage);
    await stage.as(setupToken).managerRuntime.bootstrap({ params: { id: managerId } }, stage.signal);
    return stage.admin.managers.delete({ params: { id: managerId } }, stage.signal);
  },
};

export const managerRuntimeStops: Stops<Routes["managerRuntime"]> = {
  heartbeat: ({ runtime, manager, signal }) =>
    runtime.managerRuntime.heartbeat(
      {
        params: { id: manager },
        body: {
          status: "healthy",
          url: "https://manager.example.com",
          managementConfigs: { kubernetes: { platform: "kubernetes" } },
          metrics: { activeDeployments: 1 },
        },
      },
      signal,
    ),
  async managementConfig(stage) {
    await managerRuntimeStops.heartbeat(stage);
    const args = { params: { id: stage.manager }, query: { platform: "kubernetes" as const } };
    return stage.admin.managerRuntime.managementConfig(args, stage.signal);
  },
  token: ({ admin, manager, project, signal }) =>
    admin.managerRuntime.token({ params: { id: manager }, body: { project } }, signal),
  work: ({ runtime, manager, signal }) => runtime.managerRuntime.work({ params: { id: manager } }, signal),
  async bootstrap(stage) {
    const { managerId, setupToken } = await fresh(stage);
    return stage.as(setupToken).managerRuntime.bootstrap({ params: { id: managerId } }, stage.signal);
  },
};

export const eventStops: Stops<Routes["events"]> = {
  async list({ admin, site, fresh: name, signal }) {
    const deploymentId = await site.deploy(name("told"));
    return admin.events.list({ query: { deploymentId, include: ["releaseCreatedAt"] } }, signal);
  },
  async get(stage) {
    const [event] = (await eventStops.list(stage)).items;
    return stage.admin.events.get({ params: { id: event?.id ?? "" } }, stage.signal);
  },
};

export const gatewayStops: Stops<Routes["gateways"]> = {
  overview: ({ admin, signal }) => admin.gateways.overview({ params: { gateway: "ai" } }, signal),
};

export const resolveStops: Stops<Routes["resolve"]> = {
  get: ({ admin, project, signal }) => admin.resolve.get({ query: { platform: "kubernetes", project } }, signal),
};
