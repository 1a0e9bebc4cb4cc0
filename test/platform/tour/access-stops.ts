import type { Routes } from "../../../src/contract/table.ts";
import { deniedReceipt } from "../../../src/platform/areas/access-requests/testing/receipts.ts";
import type { Stage, Stops } from "./stage.ts";

const LOOK = { command: "kubernetes/get-pods", summary: "see what runs", params: { namespace: "web" } };

/** An access request that waits for the customer. */
async function queued(stage: Stage): Promise<{ readonly deploymentId: string; readonly id: string }> {
  const { admin, signal } = stage;
  const { deploymentId, id } = await requested(stage);
  await admin.accessRequests.queue({ params: { id } }, signal);
  return { deploymentId, id };
}

async function requested({ admin, site, fresh, signal }: Stage): Promise<{ deploymentId: string; id: string }> {
  const deploymentId = await site.deploy(fresh("asked"));
  const body = { deploymentId, remediationPlanId: "plan-1", title: "Look", commands: [LOOK] };
  const { id } = await admin.accessRequests.create({ body }, signal);
  return { deploymentId, id };
}

export const accessRequestStops: Stops<Routes["accessRequests"]> = {
  async create({ admin, site, fresh, signal }) {
    const deploymentId = await site.deploy(fresh("asked"));
    const body = { deploymentId, remediationPlanId: "plan-1", title: "Look", commands: [LOOK], reason: "an alert" };
    return admin.accessRequests.create({ body }, signal);
  },
  queue: async (stage) =>
    stage.admin.accessRequests.queue({ params: { id: (await requested(stage)).id } }, stage.signal),
  coordinates: async (stage) =>
    stage.admin.accessRequests.coordinates({ params: { id: (await queued(stage)).id } }, stage.signal),
  async list(stage) {
    const { deploymentId } = await requested(stage);
    return stage.admin.accessRequests.list({ query: { deploymentId, status: ["pending-approval"] } }, stage.signal);
  },
  get: async (stage) => stage.admin.accessRequests.get({ params: { id: (await requested(stage)).id } }, stage.signal),
  async receipt(stage) {
    const id = await withReceipt(stage);
    return stage.admin.accessRequests.receipt({ params: { id } }, stage.signal);
  },
  async reject(stage) {
    const { id } = await requested(stage);
    return stage.admin.accessRequests.reject({ params: { id }, body: { reason: "not now" } }, stage.signal);
  },
};

export const accessRelayStops: Stops<Routes["accessRelay"]> = {
  async pending(stage) {
    const { deploymentId } = await queued(stage);
    return stage.runtime.accessRelay.pending({ query: { deploymentId } }, stage.signal);
  },
  async materialized(stage) {
    const { deploymentId, id } = await queued(stage);
    const body = { deploymentId, requestIds: [id], namespace: "grants", resourcePlural: "accessgrants.sallyport.dev" };
    return stage.runtime.accessRelay.materialized({ body }, stage.signal);
  },
  async approvals(stage) {
    const { deploymentId, id } = await queued(stage);
    const approvals = [{ requestId: id, approvedUntil: stage.inAnHour(), decidedBy: "robin" }];
    return stage.runtime.accessRelay.approvals({ body: { deploymentId, approvals } }, stage.signal);
  },
  async decisions(stage) {
    const { deploymentId, id } = await queued(stage);
    const decisions = [{ requestId: id, outcome: "denied", reason: "no" } as const];
    return stage.runtime.accessRelay.decisions({ body: { deploymentId, decisions } }, stage.signal);
  },
  async receipts(stage) {
    const { deploymentId, id } = await queued(stage);
    const request = await stage.admin.accessRequests.get({ params: { id } }, stage.signal);
    const receipts = [deniedReceipt(request)];
    return stage.runtime.accessRelay.receipts({ body: { deploymentId, receipts } }, stage.signal);
  },
};

async function withReceipt(stage: Stage): Promise<string> {
  const { results } = await accessRelayStops.receipts(stage);
  return results[0]?.requestId ?? "";
}

/** A command that its manager has not fetched yet. */
async function pendingCommand({ admin, site, project, fresh, signal }: Stage): Promise<string> {
  const deploymentId = await site.deploy(fresh("commanded"));
  const query = { project };
  await admin.operations.putPolicy({ query, body: { rules: [{ pattern: "*", decision: "auto" }] } }, signal);
  const body = { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "web" } };
  const { commandId = "" } = await admin.operations.invoke({ query, body }, signal);
  return commandId;
}

async function dispatched(stage: Stage): Promise<string> {
  const id = await pendingCommand(stage);
  await stage.runtime.commands.dispatch({ params: { id }, body: { dispatchedAt: now(stage) } }, stage.signal);
  return id;
}

function now({ world }: Stage): string {
  return world.clock.wallNow().toISOString();
}

export const commandStops: Stops<Routes["commands"]> = {
  async list(stage) {
    await pendingCommand(stage);
    return stage.admin.commands.list({ query: { state: ["PENDING"], include: ["payload", "project"] } }, stage.signal);
  },
  async create(stage) {
    const deploymentId = await stage.site.deploy(stage.fresh("commanded"));
    const web = { type: "container", status: "running", config: {} };
    const stackState = { platform: "kubernetes", resourcePrefix: "shop", resources: { web } };
    await stage.site.report(deploymentId, "running", {}, { stackState });
    const body = { deploymentId, name: "echo", target: "web", params: { a: 1 } };
    return stage.admin.commands.create({ body }, stage.signal);
  },
  get: async (stage) =>
    stage.runtime.commands.get(
      { params: { id: await pendingCommand(stage) }, query: { include: ["payload"] } },
      stage.signal,
    ),
  async patch(stage) {
    const id = await dispatched(stage);
    return stage.runtime.commands.patch({ params: { id }, body: { state: "PENDING" } }, stage.signal);
  },
  async dispatch(stage) {
    const id = await pendingCommand(stage);
    return stage.runtime.commands.dispatch({ params: { id }, body: { dispatchedAt: now(stage) } }, stage.signal);
  },
  async complete(stage) {
    const id = await dispatched(stage);
    const body = { state: "SUCCEEDED", completedAt: now(stage), result: { pods: [] } } as const;
    return stage.runtime.commands.complete({ params: { id }, body }, stage.signal);
  },
  incrementAttempt: async (stage) =>
    stage.runtime.commands.incrementAttempt({ params: { id: await dispatched(stage) } }, stage.signal),
};

export const operationStops: Stops<Routes["operations"]> = {
  listPlugins: ({ admin, project, signal }) => admin.operations.listPlugins({ query: { project } }, signal),
  registerPlugin: ({ admin, project, signal }) =>
    admin.operations.registerPlugin(
      {
        query: { project },
        body: {
          name: "backup",
          version: "1.0.0",
          tier: "read-only",
          metadata: { name: "backup", version: "1.0.0", operations: [{ name: "status" }] },
        },
      },
      signal,
    ),
  enableBuiltins: ({ admin, project, signal }) =>
    admin.operations.enableBuiltins({ query: { project }, body: { names: ["kubernetes"] } }, signal),
  uploadUrl: ({ admin, project, signal }) =>
    admin.operations.uploadUrl({ query: { project }, body: { name: "backup" } }, signal),
  enablePlugin: ({ admin, project, signal }) =>
    admin.operations.enablePlugin(
      { query: { project }, params: { name: "kubernetes" }, body: { enabled: true } },
      signal,
    ),
  getPolicy: ({ runtime, project, signal }) => runtime.operations.getPolicy({ query: { project } }, signal),
  putPolicy: ({ admin, project, signal }) =>
    admin.operations.putPolicy(
      { query: { project }, body: { rules: [{ pattern: "kubernetes/*", decision: "auto" }] } },
      signal,
    ),
  async invoke({ admin, site, project, fresh, signal }) {
    const deploymentId = await site.deploy(fresh("invoked"));
    const body = { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "web" } };
    return admin.operations.invoke({ query: { project }, body }, signal);
  },
};

async function debugSession({ runtime, site, fresh, inAnHour, signal }: Stage): Promise<string> {
  const deploymentId = await site.deploy(fresh("debugged"));
  return (await runtime.debugSessions.create({ body: { deploymentId, expiresAt: inAnHour() } }, signal)).id;
}

export const debugSessionStops: Stops<Routes["debugSessions"]> = {
  async list(stage) {
    await debugSession(stage);
    return stage.admin.debugSessions.list({ query: { state: ["pending"], mode: "pull" } }, stage.signal);
  },
  async create({ runtime, site, fresh, inAnHour, signal }) {
    const deploymentId = await site.deploy(fresh("debugged"));
    const body = { deploymentId, expiresAt: inAnHour(), owner: "robin", state: "running" } as const;
    return runtime.debugSessions.create({ body }, signal);
  },
  get: async (stage) => stage.admin.debugSessions.get({ params: { id: await debugSession(stage) } }, stage.signal),
  async patch(stage) {
    const id = await debugSession(stage);
    return stage.admin.debugSessions.patch({ params: { id }, body: { state: "stopping" } }, stage.signal);
  },
};

/** The client has no calls for the two upgrades; `every-route.test.ts` checks their answer to an ordinary call. */
export const debugRelayStops: Omit<Stops<Routes["debugRelay"]>, "attach" | "tunnel"> = {
  async request({ admin, site, fresh, signal }) {
    const id = await site.deploy(fresh("debugged"));
    const pin = "k".repeat(43);
    const body = { reason: "the shop is slow", mode: "logs", namespace: "web", clientKey: pin } as const;
    return admin.debugRelay.request({ params: { id }, body }, signal);
  },
  ticket: async (stage) =>
    stage.runtime.debugRelay.ticket(
      { params: { id: await debugSession(stage) }, body: { tunnelKey: "t".repeat(43) } },
      stage.signal,
    ),
};
