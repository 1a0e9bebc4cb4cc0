import type { deploymentRoutes } from "../../../contract/deployments/deployments.ts";
import { type Call, type Handlers, reply } from "../../kernel/call/call.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { checkExpiry } from "../api-keys/service.ts";
import { requireManagerOf } from "../managers/record/store.ts";
import { patchInputs, readInputs, setEnvironmentVariables } from "./create/configure.ts";
import { createDeployment, mintDeploymentToken } from "./create/create.ts";
import { getDeployment, readDeployment } from "./read/get.ts";
import { deploymentStats, detailsOf, listDeployments } from "./read/list.ts";
import { toDeployment } from "./read/record.ts";
import {
  deleteDeployment,
  patchDeployment,
  pinRelease,
  redeployDeployment,
  retryDeployment,
  setReleaseChannel,
} from "./service.ts";

type Routes = typeof deploymentRoutes;

export const handlers: Handlers<Routes> = {
  list: listDeployments,
  create,
  stats: (call) => deploymentStats(call, call.query),
  async get(call) {
    const row = await readDeployment(call, call.params.id);
    const details = await detailsOf(call, [row], call.query.include ?? []);
    return { ...toDeployment(row, call), ...details(row) };
  },
  patch: async (call) => toDeployment(await patchDeployment(call, call.params.id, call.body), call),
  remove: (call) => deleteDeployment(call, call.params.id, "cleanup"),
  delete: (call) => deleteDeployment(call, call.params.id, call.body.action),
  info,
  async redeploy(call) {
    const operation = await redeployDeployment(call, call.params.id);
    return { message: "The current release will be applied again.", operation };
  },
  async retry(call) {
    await retryDeployment(call, call.params.id);
    return { message: "Another attempt will be made." };
  },
  async pinRelease(call) {
    await pinRelease(call, call.params.id, call.body.releaseId);
    return { message: call.body.releaseId === null ? "The pin is removed." : "The release is pinned." };
  },
  setReleaseChannel: async (call) =>
    toDeployment(await setReleaseChannel(call, call.params.id, call.body.channel), call),
  getInputs: (call) => readInputs(call, call.params.id),
  async patchInputs(call) {
    const { changed, operation, ...view } = await patchInputs(call, call.params.id, call.body);
    const outcome = changed ? ("accepted" as const) : ("unchanged" as const);
    return { ...view, outcome, runtimeUpdateRequested: operation !== null, operation };
  },
  async setEnvironmentVariables(call) {
    await setEnvironmentVariables(call, call.params.id, call.body.variables);
    return { message: "The environment variables are replaced." };
  },
  createToken,
};

async function create(call: Call<Routes["create"]>) {
  const { row, isNew, token } = await createDeployment(call, call.body);
  const body = {
    deployment: toDeployment(row, call),
    deploymentModel: row.deployment_model,
    ...(token !== undefined && { token }),
  };
  return reply(isNew ? 201 : 200, body);
}

async function info(call: Call<Routes["info"]>) {
  const row = await getDeployment(call, call.params.id);
  const { url } = await requireManagerOf(call.db, row.id);
  const resources = Object.entries(shown(row.stack_state, call.principal)?.resources ?? {}).map(([id, resource]) => [
    id,
    { type: resource.type, status: resource.status, outputs: "outputs" in resource ? resource.outputs : null },
  ]);
  return {
    commands: { url, deploymentId: row.id },
    resources: Object.fromEntries(resources),
    status: row.status,
    platform: row.platform,
  };
}

async function createToken(call: Call<Routes["createToken"]>) {
  const row = await getDeployment(call, call.params.id);
  const { description, expiresAt } = call.body;
  const until = expiresAt == null ? null : new Date(expiresAt);
  checkExpiry(call.principal, until, call.now);
  const token = await mintDeploymentToken(call, row, { description, expiresAt: until });
  return { token, deploymentId: row.id };
}
