import type { Routes } from "../../../src/contract/table.ts";
import { released, type Stage, type Stops } from "./stage.ts";

const AT = { total: 4, allocated: 1, systemReserve: 0 };

/** A deployment of machines, one of which has joined. */
async function fleet(
  stage: Stage,
): Promise<{ readonly id: string; readonly machineId: string; readonly token: string }> {
  const { admin, runtime, site, fresh, signal } = stage;
  await released(stage);
  const id = await site.deploy(fresh("fleet"), { platform: "machines" });
  for (const status of ["initial-setup", "provisioning", "running"] as const) {
    const state = { status, platform: "machines", protocolVersion: 1 } as const;
    await runtime.sync.reconcile({ body: { deploymentId: id, state } }, signal);
  }
  const { joinToken, token } = await admin.machines.createToken({ params: { id } }, signal);
  const machineId = fresh("machine");
  await runtime.machineRuntime.join({ body: { joinToken, machineId, capacityGroup: "default", zone: "a" } }, signal);
  return { id, machineId, token: token.id };
}

function report(stage: Stage, machineId: string, status: "ready" | "drained") {
  const at = stage.world.clock.wallNow().toISOString();
  const machine = { machineId, status, capacityGroup: "default", zone: "a", cpu: AT, memory: AT, replicaCount: 0 };
  return {
    observedAt: at,
    complete: true,
    machines: [{ ...machine, drainBlockers: [], localOverrides: [], lastHeartbeat: at }],
  };
}

export const machineStops: Stops<Routes["machines"]> = {
  listTokens: async (stage) =>
    stage.admin.machines.listTokens({ params: { id: (await fleet(stage)).id } }, stage.signal),
  createToken: async (stage) =>
    stage.admin.machines.createToken(
      { params: { id: (await fleet(stage)).id }, body: { maxJoins: 2, expiresInSeconds: 60 } },
      stage.signal,
    ),
  rotateTokens: async (stage) =>
    stage.admin.machines.rotateTokens({ params: { id: (await fleet(stage)).id } }, stage.signal),
  async revokeToken(stage) {
    const { id, token } = await fleet(stage);
    return stage.admin.machines.revokeToken({ params: { id, tokenId: token } }, stage.signal);
  },
  inventory: async (stage) => stage.admin.machines.inventory({ params: { id: (await fleet(stage)).id } }, stage.signal),
  async drain(stage) {
    const { id, machineId } = await fleet(stage);
    return stage.admin.machines.drain({ params: { id, machineId }, body: { deadlineSeconds: 60 } }, stage.signal);
  },
  async cancelDrain(stage) {
    const { id, machineId } = await fleet(stage);
    await stage.admin.machines.drain({ params: { id, machineId } }, stage.signal);
    return stage.admin.machines.cancelDrain({ params: { id, machineId } }, stage.signal);
  },
  async remove(stage) {
    const { id, machineId } = await fleet(stage);
    await stage.admin.machines.drain({ params: { id, machineId } }, stage.signal);
    await stage.runtime.machineRuntime.report(
      { params: { id }, body: report(stage, machineId, "drained") },
      stage.signal,
    );
    return stage.admin.machines.remove({ params: { id, machineId } }, stage.signal);
  },
};

export const machineRuntimeStops: Stops<Routes["machineRuntime"]> = {
  async join(stage) {
    const { id } = await fleet(stage);
    const { joinToken } = await stage.admin.machines.createToken({ params: { id } }, stage.signal);
    return stage.runtime.machineRuntime.join({ body: { joinToken, machineId: stage.fresh("machine") } }, stage.signal);
  },
  async actions(stage) {
    const { id, machineId } = await fleet(stage);
    await stage.admin.machines.drain({ params: { id, machineId } }, stage.signal);
    return stage.runtime.machineRuntime.actions({ query: { managerId: stage.manager } }, stage.signal);
  },
  async report(stage) {
    const { id, machineId } = await fleet(stage);
    return stage.runtime.machineRuntime.report(
      { params: { id }, body: report(stage, machineId, "ready") },
      stage.signal,
    );
  },
  async joinServer(stage) {
    const { id } = await fleet(stage);
    const body = {
      url: "https://join.example.com:8443",
      pins: [`sha256//${"A".repeat(43)}=`],
      apiServerVersion: "v1.36.3",
    };
    return stage.runtime.machineRuntime.joinServer({ params: { id }, body }, stage.signal);
  },
};
