import type { machineRuntimeRoutes } from "../../../contract/machines/machines.ts";
import type { BodyOf, ResponseOf } from "../../../contract/wire/route.ts";
import type { JoinTokenRow, MachineDetails, MachineRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { findDeployment } from "../deployments/read/store.ts";
import { presentedToken, refusal } from "./join-tokens.ts";
import { NO_WISHES } from "./state.ts";
import { clusterOf, findMachine, insertMachine, requireMachineRoom } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "budgets">;
type Join = BodyOf<(typeof machineRuntimeRoutes)["join"]>;
type Joined = ResponseOf<(typeof machineRuntimeRoutes)["join"]>;

/** §18.1, in one transaction, so that of concurrent machines no more than `maxJoins` are admitted. */
export async function joinMachine(call: Context, body: Join): Promise<Joined> {
  const token = await presentedToken(call, body.joinToken);
  const deployment = token && (await findDeployment(call.db, call.principal, token.deployment_id));
  if (token === undefined || deployment === undefined || deployment.status === "deleted") {
    throw new PlatformError("JOIN_TOKEN_INVALID");
  }
  const refused = refusal(token, call.now);
  if (refused !== undefined && refused !== "JOIN_TOKEN_EXHAUSTED") throw new PlatformError(refused);
  const publicKey = body.publicKey ?? null;
  const found = await findMachine(call.db, token.deployment_id, body.machineId);
  const live = found?.status === "removed" ? undefined : found;
  if (live !== undefined && live.public_key !== publicKey) throw new PlatformError("MACHINE_ID_TAKEN");
  const { cluster_id: clusterId } = await clusterOf(call.db, token.deployment_id);
  const answer = { deploymentId: token.deployment_id, clusterId, tokenId: token.id };
  if (live?.token_id === token.id) return { ...answer, joinCount: token.join_count };
  if (refused !== undefined) throw new PlatformError(refused);
  await admit(call, body, token, live);
  return { ...answer, joinCount: token.join_count + 1 };
}

/** Admits a machine. A live machine that uses another token keeps its record. */
async function admit(call: Context, body: Join, token: JoinTokenRow, live: MachineRow | undefined): Promise<void> {
  const { db, now } = call;
  await db
    .updateTable("join_tokens")
    .set({ join_count: token.join_count + 1, last_used_at: now })
    .where("id", "=", token.id)
    .execute();
  if (live !== undefined) {
    await db.updateTable("machines").set({ token_id: token.id }).where("id", "=", live.id).execute();
    return;
  }
  const machine = {
    deploymentId: token.deployment_id,
    machineId: body.machineId,
    tokenId: token.id,
    publicKey: body.publicKey ?? null,
    createdAt: now,
  };
  const state = { status: "joining", statusSince: now, lastHeartbeat: now, reported: null, revision: 0 } as const;
  await insertMachine(db, machine, { ...state, ...NO_WISHES }, firstDetails(body));
  await requireMachineRoom(call, token.deployment_id);
}

const UNMEASURED = { allocated: 0, systemReserve: 0, total: 0 } as const;

/** The details known before the first report. */
function firstDetails({ capacityGroup, zone, runtimeDaemonVersion, publicIp }: Join): MachineDetails {
  return {
    capacityGroup: capacityGroup ?? "default",
    zone: zone ?? "unknown",
    cpu: UNMEASURED,
    memory: UNMEASURED,
    drainBlockers: [],
    localOverrides: [],
    replicaCount: 0,
    runtimeDaemonVersion: runtimeDaemonVersion ?? null,
    publicIp: publicIp ?? null,
  };
}
