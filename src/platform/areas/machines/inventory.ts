import type { MachineReport } from "../../../contract/machines/machine.ts";
import type { machineRoutes, machineRuntimeRoutes } from "../../../contract/machines/machines.ts";
import type { BodyOf, ResponseOf } from "../../../contract/wire/route.ts";
import { json } from "../../database/json.ts";
import type { MachineDetails, MachineRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid } from "../../kernel/errors.ts";
import { requireFleet } from "./fleet.ts";
import { toJoinServer } from "./join-server.ts";
import { isWhole, partsAfter } from "./parts.ts";
import { afterAbsence, afterReport } from "./state.ts";
import {
  clusterOf,
  findCluster,
  insertMachine,
  liveMachines,
  newState,
  requireMachineRoom,
  stateOf,
  toMachine,
  updateMachine,
} from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "budgets" | "raise">;
type Inventory = BodyOf<(typeof machineRuntimeRoutes)["report"]>;

export async function readInventory(
  { db, principal, now }: Pick<Call, "db" | "principal" | "now">,
  id: string,
): Promise<ResponseOf<(typeof machineRoutes)["inventory"]>> {
  const deployment = await requireFleet({ db, principal }, id);
  const rows = await liveMachines(db, deployment.id);
  const cluster = await findCluster(db, deployment.id);
  return {
    machines: rows.map((row) => toMachine(row, now)),
    joinServer: cluster === undefined ? null : toJoinServer(deployment, cluster, now),
  };
}

/**
 * Stores a manager's list of machines (§18.3). Only the newest observation counts; an older one that arrives late is
 * ignored.
 */
export async function takeInventory(
  call: Context,
  id: string,
  inventory: Inventory,
): Promise<{ accepted: number; ignored: number }> {
  const { db, now } = call;
  const { part } = inventory;
  if (part !== undefined && part.index >= part.of) {
    throw invalid({ path: "body.part.index", message: "must be less than body.part.of" });
  }
  const deployment = await requireFleet(call, id);
  const { inventory_observed_at: known, inventory_parts } = await clusterOf(db, id);
  const observedAt = noLater(inventory.observedAt, now);
  if (known !== null && observedAt < known) return { accepted: 0, ignored: inventory.machines.length };
  const parts = partsAfter(inventory_parts, inventory);
  // A list that is complete by itself ends one that was told in parts.
  const told = parts !== undefined ? json(parts) : inventory.complete ? null : undefined;
  await db
    .updateTable("machine_clusters")
    .set({ inventory_observed_at: observedAt, ...(told !== undefined && { inventory_parts: told }) })
    .where("deployment_id", "=", id)
    .execute();
  const live = new Map((await liveMachines(db, id)).map((row) => [row.machine_id, row]));
  // A machine that the list names twice: the last entry counts.
  const reported = new Map(inventory.machines.map((report) => [report.machineId, report]));
  let accepted = 0;
  for (const report of reported.values()) {
    const row = live.get(report.machineId);
    // What was over before this machine joined is about an earlier one of its name.
    if (report.status === "removed" && row !== undefined && row.created_at > observedAt) continue;
    if (await store(call, id, row, report, deployment.platform === "kubernetes", parts?.id)) accepted += 1;
  }
  await requireMachineRoom(call, id);
  if (isWhole(inventory, parts)) {
    const others = [...live.values()].filter(({ seen_in }) => parts === undefined || seen_in !== parts.id);
    await markAbsent(call, others, reported, observedAt);
  }
  return { accepted, ignored: inventory.machines.length - accepted };
}

/** A time in the future counts as now, because the cluster's clock may be ahead. */
function noLater(text: string, now: Date): Date {
  const at = new Date(text);
  return at > now ? now : at;
}

/** False: the report is ignored. Only machines of a Kubernetes cluster may appear without having joined. */
async function store(
  { db, now, raise }: Context,
  deploymentId: string,
  row: MachineRow | undefined,
  report: MachineReport,
  mayAppear: boolean,
  seenIn: string | undefined,
): Promise<boolean> {
  const { status, drainRequestedAt, wish } = report;
  const hasDrain = drainRequestedAt != null;
  const word = { status, lastHeartbeat: noLater(report.lastHeartbeat, now), hasDrain, wish: wish ?? undefined };
  if (row !== undefined) {
    const next = afterReport(stateOf(row), word, now);
    const isNews = (now: Date | null, before: Date | null): boolean => now !== null && before === null;
    // The manager lists what is wanted once more.
    if (
      isNews(next.drainCancelledAt, row.drain_cancelled_at) ||
      isNews(next.customerCancelledAt, row.customer_cancelled_at)
    ) {
      await raise("machines", deploymentId);
    }
    const blockers = next.drainCancelledAt === null ? report.drainBlockers : [];
    await updateMachine(db, row.id, next, { ...detailsOf(report), drainBlockers: blockers }, seenIn);
    return true;
  }
  if (!mayAppear || report.status === "removed") return false;
  const { machineId } = report;
  const neverJoined = { tokenId: null, publicKey: null, nodeName: null };
  const machine = { deploymentId, machineId, ...neverJoined, createdAt: now, ...(seenIn !== undefined && { seenIn }) };
  const unseen = await newState(db, deploymentId, [machineId], now);
  const state = afterReport(unseen, word, now);
  await insertMachine(db, machine, state, detailsOf(report));
  return true;
}

async function markAbsent(
  { db, now }: Context,
  rows: readonly MachineRow[],
  reported: ReadonlyMap<string, unknown>,
  observedAt: Date,
): Promise<void> {
  for (const row of rows) {
    // A machine that joined after the list was made is not missing from it.
    if (reported.has(row.machine_id) || row.created_at > observedAt) continue;
    await updateMachine(db, row.id, afterAbsence(stateOf(row), now));
  }
}

function detailsOf(report: MachineReport): MachineDetails {
  const { machineId: _id, status: _status, lastHeartbeat: _at, ...rest } = report;
  const { drainRequestedAt: _r, drainDeadlineAt: _d, drainForce: _f, drainedAt: _e, wish: _w, ...details } = rest;
  return details;
}
