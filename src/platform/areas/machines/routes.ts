import type { machineRoutes, machineRuntimeRoutes } from "../../../contract/machines/machines.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { notFound } from "../../kernel/errors.ts";
import { getDeployment } from "../deployments/read/get.ts";
import { cancelDrain, listActions, removeMachine, requestDrain } from "./actions.ts";
import { readInventory, takeInventory } from "./inventory.ts";
import { joinMachine } from "./join.ts";
import { takeJoinServer } from "./join-server.ts";
import { createToken, listTokens, revokeToken, rotateTokens } from "./join-tokens.ts";

export const handlers: Handlers<typeof machineRoutes> = {
  listTokens: async (call) => ({ tokens: await listTokens(call, call.params.id) }),
  createToken: (call) => createToken(call, call.params.id, call.body ?? {}),
  rotateTokens: (call) => rotateTokens(call, call.params.id, call.body ?? {}),
  async revokeToken(call) {
    const { id, tokenId } = call.params;
    await revokeToken(call, id, tokenId);
    return { tokenId, revoked: true };
  },
  inventory: (call) => readInventory(call, call.params.id),
  async drain(call) {
    const { id, machineId } = call.params;
    await requestDrain(call, id, machineId, call.body ?? {});
    return { machineId, requested: true };
  },
  async cancelDrain(call) {
    const { id, machineId } = call.params;
    return { machineId, cancelled: await cancelDrain(call, id, machineId) };
  },
  async remove(call) {
    const { id, machineId } = call.params;
    await removeMachine(call, id, machineId);
    return { machineId, removed: true };
  },
};

export const runtimeHandlers: Handlers<typeof machineRuntimeRoutes> = {
  join: (call) => joinMachine(call, call.body),
  async actions(call) {
    const { managerId, deploymentId } = call.query;
    const { principal } = call;
    const scope = principal.kind === "serviceAccount" ? principal.scope : undefined;
    if (scope?.type !== "manager" || scope.managerId !== managerId) throw notFound("manager");
    if (deploymentId !== undefined) await getDeployment(call, deploymentId);
    return { actions: await listActions(call, deploymentId) };
  },
  report: (call) => takeInventory(call, call.params.id, call.body),
  joinServer: (call) => takeJoinServer(call, call.params.id, call.body),
};
