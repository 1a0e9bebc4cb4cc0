import type { machineRuntimeRoutes } from "../../../contract/machines/machines.ts";
import type { BodyOf, ResponseOf } from "../../../contract/wire/route.ts";
import type { JoinTokenRow, MachineDetails, MachineRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, PlatformError } from "../../kernel/errors.ts";
import { findDeployment } from "../deployments/read/store.ts";
import { presentedToken, refusal } from "./join-tokens.ts";
import {
  clusterOf,
  findMachine,
  insertMachine,
  newState,
  requireMachineRoom,
  stateOf,
  updateMachine,
} from "./store.ts";

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
  const names = deployment.platform === "kubernetes" ? namesOf(body) : undefined;
  const live = names === undefined ? await ofThatKey(call, token, body) : await ofThoseNames(call, token, names);
  const { cluster_id: clusterId } = await clusterOf(call.db, token.deployment_id);
  const answer = { deploymentId: token.deployment_id, clusterId, tokenId: token.id };
  if (live?.token_id === token.id) return { ...answer, joinCount: token.join_count };
  if (refused !== undefined) throw new PlatformError(refused);
  await admit(call, body, token, live);
  return { ...answer, joinCount: token.join_count + 1 };
}

/** @throws MACHINE_ID_TAKEN unless the live machine of that id has the same key */
async function ofThatKey({ db }: Context, token: JoinTokenRow, body: Join): Promise<MachineRow | undefined> {
  const found = await findMachine(db, token.deployment_id, body.machineId);
  const live = found?.status === "removed" ? undefined : found;
  if (live !== undefined && live.public_key !== (body.publicKey ?? null)) throw new PlatformError("MACHINE_ID_TAKEN");
  return live;
}

/** What a Kubernetes machine is known by: each of them belongs to one machine alone. */
interface Names {
  readonly machineId: string;
  readonly publicKey: string;
  readonly nodeName: string;
}

const KEY_HASH = /^[0-9a-f]{64}$/;

/** @throws VALIDATION_ERROR */
function namesOf({ machineId, publicKey, nodeName }: Join): Names {
  if (publicKey === undefined || !KEY_HASH.test(publicKey)) {
    throw invalid({ path: "body.publicKey", message: "must be the SHA-256 of the machine's key, 64 hex digits" });
  }
  if (nodeName === undefined) throw invalid({ path: "body.nodeName", message: "must name the node that it becomes" });
  return { machineId, publicKey, nodeName };
}

/**
 * The live machine that has all of these names; undefined when none has any. A machine that was denied, or was
 * not let in within a day, gives its names back.
 * @throws MACHINE_ID_TAKEN when another one has one of them
 */
async function ofThoseNames({ db, now }: Context, token: JoinTokenRow, names: Names): Promise<MachineRow | undefined> {
  const { machineId, publicKey, nodeName } = names;
  const rows = await db
    .selectFrom("machines")
    .selectAll()
    .where("deployment_id", "=", token.deployment_id)
    .where("status", "<>", "removed")
    .where((eb) =>
      eb.or([
        eb("machine_id", "in", [machineId, nodeName]),
        eb("node_name", "in", [machineId, nodeName]),
        eb("public_key", "=", publicKey),
      ]),
    )
    .orderBy("machine_id")
    .execute();
  const isSame = (row: MachineRow): boolean =>
    row.machine_id === machineId && row.public_key === publicKey && (row.node_name ?? nodeName) === nodeName;
  for (const row of rows.filter((each) => !isSame(each))) {
    if (row.public_key === publicKey || !wasRefused(row)) throw taken(row, names);
    await updateMachine(db, row.id, { ...stateOf(row), status: "removed", statusSince: now });
  }
  return rows.find(isSame);
}

function wasRefused({ details, reported }: MachineRow): boolean {
  return reported !== null && (details.joinState === "denied" || details.joinState === "expired");
}

function taken(row: MachineRow, { publicKey, machineId }: Names): PlatformError {
  if (row.public_key === publicKey) {
    return new PlatformError("MACHINE_ID_TAKEN", {
      message: "this key has joined under another machine id or node name",
      hint: "join under the same names, or with a new key",
    });
  }
  const what = row.machine_id === machineId ? "machine id" : "node name";
  return new PlatformError("MACHINE_ID_TAKEN", {
    message: `this ${what} belongs to another machine of the deployment`,
    hint: "choose another name, or remove that machine first",
  });
}

/** Admits a machine. A live machine that uses another token keeps its record. */
async function admit(call: Context, body: Join, token: JoinTokenRow, live: MachineRow | undefined): Promise<void> {
  const { db, now } = call;
  const nodeName = body.nodeName ?? null;
  await db
    .updateTable("join_tokens")
    .set({ join_count: token.join_count + 1, last_used_at: now })
    .where("id", "=", token.id)
    .execute();
  if (live !== undefined) {
    await db
      .updateTable("machines")
      .set({ token_id: token.id, node_name: nodeName })
      .where("id", "=", live.id)
      .execute();
    return;
  }
  const machine = {
    deploymentId: token.deployment_id,
    machineId: body.machineId,
    tokenId: token.id,
    publicKey: body.publicKey ?? null,
    nodeName,
    createdAt: now,
  };
  const state = await newState(db, token.deployment_id, [body.machineId, nodeName ?? body.machineId], now);
  await insertMachine(db, machine, state, firstDetails(body));
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
