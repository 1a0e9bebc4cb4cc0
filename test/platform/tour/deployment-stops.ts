import type { Routes } from "../../../src/contract/table.ts";
import { released, type Stage, type Stops } from "./stage.ts";

export const deploymentGroupStops: Stops<Routes["deploymentGroups"]> = {
  list: ({ admin, project, signal }) =>
    admin.deploymentGroups.list({ query: { project, include: ["project"] } }, signal),
  create: ({ admin, project, fresh, signal }) =>
    admin.deploymentGroups.create({ body: { name: fresh("group"), project, maxDeployments: 3 } }, signal),
  putByName: ({ admin, project, fresh, signal }) =>
    admin.deploymentGroups.putByName({ body: { name: fresh("group"), project } }, signal),
  async getByExternalId({ admin, project, fresh, signal }) {
    const externalId = fresh("External");
    await admin.deploymentGroups.putByExternalId({ body: { externalId, name: fresh("group"), project } }, signal);
    return admin.deploymentGroups.getByExternalId({ query: { project, externalId } }, signal);
  },
  putByExternalId: ({ admin, project, fresh, signal }) =>
    admin.deploymentGroups.putByExternalId(
      { body: { externalId: fresh("External"), name: fresh("group"), project } },
      signal,
    ),
  get: ({ admin, group, signal }) =>
    admin.deploymentGroups.get({ params: { id: group }, query: { include: ["project"] } }, signal),
  patch: ({ admin, group, signal }) =>
    admin.deploymentGroups.patch({ params: { id: group }, body: { maxDeployments: 200 } }, signal),
  async delete({ admin, project, fresh, signal }) {
    const { id } = await admin.deploymentGroups.create({ body: { name: fresh("group"), project } }, signal);
    return admin.deploymentGroups.delete({ params: { id } }, signal);
  },
  putExternalId: ({ admin, group, fresh, signal }) =>
    admin.deploymentGroups.putExternalId({ params: { id: group }, body: { externalId: fresh("External") } }, signal),
  createToken: ({ admin, group, signal }) =>
    admin.deploymentGroups.createToken(
      {
        params: { id: group },
        body: {
          deploymentSetupConfig: {
            metadata: { note: "for acme" },
            policy: { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] },
            environmentVariables: [{ name: "REGION", value: "eu", type: "plain" }],
          },
        },
      },
      signal,
    ),
  firstPartySession: async (stage) => {
    await released(stage);
    return stage.admin.deploymentGroups.firstPartySession({ params: { id: stage.group } }, stage.signal);
  },
};

/** A deployment that follows the production channel, which has a release. */
async function deployed(stage: Stage): Promise<string> {
  await released(stage);
  return stage.site.deploy(stage.fresh("deployed"));
}

async function running(stage: Stage): Promise<string> {
  const id = await deployed(stage);
  for (const status of ["initial-setup", "provisioning", "running"]) await stage.site.report(id, status);
  return id;
}

export const deploymentStops: Stops<Routes["deployments"]> = {
  async list(stage) {
    await stage.site.deploy(stage.fresh("listed"));
    const query = { include: ["release" as const, "project" as const, "deploymentGroup" as const], limit: 100 };
    return stage.admin.deployments.list({ query }, stage.signal);
  },
  create: ({ admin, project, group, manager, fresh, signal }) =>
    admin.deployments.create(
      {
        body: { name: fresh("made"), platform: "kubernetes", project, deploymentGroupId: group, managerId: manager },
      },
      signal,
    ),
  stats: ({ admin, project, signal }) => admin.deployments.stats({ query: { project } }, signal),
  get: async (stage) => stage.admin.deployments.get({ params: { id: await deployed(stage) } }, stage.signal),
  async patch(stage) {
    const id = await deployed(stage);
    return stage.admin.deployments.patch({ params: { id }, body: { name: stage.fresh("renamed") } }, stage.signal);
  },
  remove: async (stage) => stage.admin.deployments.remove({ params: { id: await deployed(stage) } }, stage.signal),
  async delete(stage) {
    const id = await deployed(stage);
    return stage.admin.deployments.delete({ params: { id }, body: { action: "forget" } }, stage.signal);
  },
  info: async (stage) => stage.admin.deployments.info({ params: { id: await deployed(stage) } }, stage.signal),
  redeploy: async (stage) => stage.admin.deployments.redeploy({ params: { id: await running(stage) } }, stage.signal),
  async retry(stage) {
    const id = await deployed(stage);
    for (const status of ["initial-setup", "initial-setup-failed"]) await stage.site.report(id, status);
    return stage.admin.deployments.retry({ params: { id } }, stage.signal);
  },
  async pinRelease(stage) {
    const [releaseId, id] = [await released(stage), await stage.site.deploy(stage.fresh("pinned"))];
    return stage.admin.deployments.pinRelease({ params: { id }, body: { releaseId } }, stage.signal);
  },
  async setReleaseChannel(stage) {
    const { admin, project, fresh, signal } = stage;
    const id = await deployed(stage);
    const body = { name: fresh("beta"), releaseId: await released(stage) };
    const { name } = await admin.releaseChannels.create({ query: { project }, body }, signal);
    return admin.deployments.setReleaseChannel({ params: { id }, body: { channel: name } }, signal);
  },
  getInputs: async (stage) =>
    stage.admin.deployments.getInputs({ params: { id: await deployed(stage) } }, stage.signal),
  async patchInputs(stage) {
    const id = await deployed(stage);
    return stage.admin.deployments.patchInputs({ params: { id }, body: { inputValues: { size: 3 } } }, stage.signal);
  },
  async setEnvironmentVariables(stage) {
    const id = await deployed(stage);
    const variables = [{ name: "REGION", value: "eu", type: "plain" as const }];
    return stage.admin.deployments.setEnvironmentVariables({ params: { id }, body: { variables } }, stage.signal);
  },
  async createToken(stage) {
    const id = await deployed(stage);
    return stage.admin.deployments.createToken({ params: { id }, body: { description: "for acme" } }, stage.signal);
  },
};

const PULL = { deploymentModel: "pull", limit: 100 } as const;

/** A deployment that its own session has leased. */
async function leased(stage: Stage): Promise<{ readonly deploymentId: string; readonly session: string }> {
  const deploymentId = await deployed(stage);
  const session = stage.fresh("session");
  await stage.runtime.sync.acquire({ body: { session, requestId: session, ...PULL } }, stage.signal);
  return { deploymentId, session };
}

export const syncStops: Stops<Routes["sync"]> = {
  async list(stage) {
    await deployed(stage);
    return stage.runtime.sync.list({ body: { limit: 500 } }, stage.signal);
  },
  context: async (stage) => stage.runtime.sync.context({ body: { deploymentId: await deployed(stage) } }, stage.signal),
  async acquire(stage) {
    await deployed(stage);
    const session = stage.fresh("session");
    return stage.runtime.sync.acquire({ body: { session, requestId: session, ...PULL } }, stage.signal);
  },
  async renew(stage) {
    const { deploymentId, session } = await leased(stage);
    return stage.runtime.sync.renew({ body: { session, deploymentIds: [deploymentId] } }, stage.signal);
  },
  async reconcile(stage) {
    const { deploymentId, session } = await leased(stage);
    const state = { status: "initial-setup", platform: "kubernetes", protocolVersion: 1 } as const;
    return stage.runtime.sync.reconcile({ body: { deploymentId, session, state } }, stage.signal);
  },
  release: async (stage) => stage.runtime.sync.release({ body: await leased(stage) }, stage.signal),
};
