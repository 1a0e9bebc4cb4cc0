import type { Routes } from "../../../src/contract/table.ts";
import { released, STACK, type Stage, type Stops } from "./stage.ts";

export const projectStops: Stops<Routes["projects"]> = {
  list: ({ admin, signal }) =>
    admin.projects.list({ query: { include: ["deploymentCount", "latestRelease"], limit: 100 } }, signal),
  create: ({ admin, fresh, signal }) => admin.projects.create({ body: { name: fresh("project") } }, signal),
  get: ({ admin, project, signal }) => admin.projects.get({ params: { idOrName: project } }, signal),
  patch: ({ admin, project, signal }) =>
    admin.projects.patch(
      { params: { idOrName: project }, body: { deploymentPortalAppearance: { title: "The shop" } } },
      signal,
    ),
  async delete({ admin, fresh, signal }) {
    const { id } = await admin.projects.create({ body: { name: fresh("gone") } }, signal);
    return admin.projects.delete({ params: { idOrName: id } }, signal);
  },
};

export const releaseStops: Stops<Routes["releases"]> = {
  async list(stage) {
    await released(stage);
    const query = { project: stage.project, allChannels: true, include: ["project" as const, "rollout" as const] };
    return stage.admin.releases.list({ query }, stage.signal);
  },
  create: ({ admin, project, signal }) =>
    admin.releases.create(
      {
        body: {
          project,
          stack: { kubernetes: STACK },
          gitMetadata: { commitSha: "0".repeat(40), commitRef: "refs/heads/main", commitAuthorLogin: "robin" },
        },
      },
      signal,
    ),
  branches: ({ admin, project, signal }) => admin.releases.branches({ query: { project } }, signal),
  authors: ({ admin, project, signal }) => admin.releases.authors({ query: { project, search: "ro" } }, signal),
  get: async (stage) =>
    stage.admin.releases.get({ params: { id: await released(stage) }, query: { include: ["rollout"] } }, stage.signal),
  async deployments(stage) {
    await stage.site.deploy(stage.fresh("released"));
    const query = { state: ["pending", "updated", "on-other"] as const };
    return stage.admin.releases.deployments(
      { params: { id: await released(stage) }, query: { state: [...query.state] } },
      stage.signal,
    );
  },
};

async function newChannel({ admin, project, fresh, signal }: Stage): Promise<string> {
  return (await admin.releaseChannels.create({ query: { project }, body: { name: fresh("beta") } }, signal)).name;
}

export const releaseChannelStops: Stops<Routes["releaseChannels"]> = {
  list: ({ admin, project, signal }) => admin.releaseChannels.list({ query: { project } }, signal),
  async create(stage) {
    const body = { name: stage.fresh("beta"), releaseId: await released(stage) };
    return stage.admin.releaseChannels.create({ query: { project: stage.project }, body }, stage.signal);
  },
  async delete(stage) {
    const { admin, project, signal } = stage;
    return admin.releaseChannels.delete({ params: { name: await newChannel(stage) }, query: { project } }, signal);
  },
  async promote(stage) {
    const { admin, project, signal } = stage;
    const params = { name: await newChannel(stage) };
    const body = { releaseId: await released(stage), expectedReleaseId: null };
    return admin.releaseChannels.promote({ params, query: { project }, body }, signal);
  },
};

/** A package that waits for a builder, in its own project: builders take the oldest package of the workspace. */
async function pendingPackage({ admin, fresh, signal }: Stage): Promise<string> {
  // A package whose type no builder asks for has failed at once.
  await admin.packageBuilder.lease({ body: { builderId: fresh("builder"), types: ["helm"] } }, signal);
  const packagesConfig = { helm: { enabled: true, chartName: "shop", description: "The shop" } };
  const { id: project } = await admin.projects.create({ body: { name: fresh("packed"), packagesConfig } }, signal);
  await admin.releases.create({ body: { project, stack: { kubernetes: STACK } } }, signal);
  await admin.packages.rebuild({ body: { project } }, signal);
  const [found] = (await admin.packages.list({ query: { project, status: "pending" } }, signal)).items;
  if (found === undefined) throw new Error("a rebuild made no package");
  return found.id;
}

async function building(stage: Stage): Promise<{ readonly id: string; readonly builderId: string }> {
  const id = await pendingPackage(stage);
  const builderId = stage.fresh("builder");
  await stage.admin.packageBuilder.lease({ body: { builderId, limit: 10 } }, stage.signal);
  return { id, builderId };
}

export const packageStops: Stops<Routes["packages"]> = {
  list: async (stage) => {
    await pendingPackage(stage);
    return stage.admin.packages.list({ query: { type: "helm" } }, stage.signal);
  },
  get: async (stage) => stage.admin.packages.get({ params: { id: await pendingPackage(stage) } }, stage.signal),
  rebuild: ({ admin, project, signal }) => admin.packages.rebuild({ body: { project } }, signal),
  cancel: async (stage) => stage.admin.packages.cancel({ params: { id: await pendingPackage(stage) } }, stage.signal),
};

export const packageBuilderStops: Stops<Routes["packageBuilder"]> = {
  async lease(stage) {
    await pendingPackage(stage);
    return stage.admin.packageBuilder.lease({ body: { builderId: stage.fresh("builder"), limit: 10 } }, stage.signal);
  },
  async progress(stage) {
    const { id, builderId } = await building(stage);
    const body = { builderId, buildPhase: "building" as const };
    return stage.admin.packageBuilder.progress({ params: { id }, body }, stage.signal);
  },
  async complete(stage) {
    const { id, builderId } = await building(stage);
    const outputs = { type: "helm", chart: "oci://registry.example.com/shop", version: "1.0.0" };
    const body = { builderId, status: "ready" as const, outputs };
    return stage.admin.packageBuilder.complete({ params: { id }, body }, stage.signal);
  },
};

/** A client with a group token, as a deployment link holds it. */
async function linkHolder(stage: Stage): Promise<Stage["admin"]> {
  const { admin, as, group, signal } = stage;
  await released(stage);
  const policy = { allowedPlatforms: ["aws", "kubernetes"], allowedSetupMethods: ["terraform", "helm"] } as const;
  const deploymentSetupConfig = {
    metadata: {},
    policy: { allowedPlatforms: [...policy.allowedPlatforms], allowedSetupMethods: [...policy.allowedSetupMethods] },
    environmentVariables: [],
  };
  const { token } = await admin.deploymentGroups.createToken(
    { params: { id: group }, body: { deploymentSetupConfig } },
    signal,
  );
  return as(token);
}

export const deploymentPortalStops: Stops<Routes["deploymentPortal"]> = {
  info: async (stage) => (await linkHolder(stage)).deploymentPortal.info({}, stage.signal),
  async computePlan(stage) {
    const body = { platform: "aws", setupMethod: "terraform", stackSettings: {} } as const;
    return (await linkHolder(stage)).deploymentPortal.computePlan({ body }, stage.signal);
  },
  async prepareStack(stage) {
    const body = { platform: "aws", setupMethod: "terraform", stackSettings: {} } as const;
    return (await linkHolder(stage)).deploymentPortal.prepareStack({ body }, stage.signal);
  },
};
