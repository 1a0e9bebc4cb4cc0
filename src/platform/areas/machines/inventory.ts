import type { Machine, MachineReport } from "../../../contract/machines/machine.ts";
import type { machineRuntimeRoutes } from "../../../contract/machines/machines.ts";
import type { BodyOf } from "../../../contract/wire/route.ts";
import type { MachineDetails, MachineRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { requireFleet } from "./fleet.ts";
import { afterAbsence, afterReport, NO_WISHES } from "./state.ts";
import {
  clusterOf,
  insertMachine,
  liveMachines,
  requireMachineRoom,
  stateOf,
  toMachine,
  updateMachine,
} from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "budgets">;
type Inventory = BodyOf<(typeof machineRuntimeRoutes)["report"]>;

export async function readInventory(call: Pick<Call, "db" | "principal" | "now">, id: string): Promise<Machine[]> {
  const { id: deploymentId } = await requireFleet(call, id);
  const rows = await liveMachines(call.db, deploymentId);
  return rows.map((row) => toMachine(row, call.now));
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
  const deployment = await requireFleet(call, id);
  const { inventory_observed_at: known } = await clusterOf(db, id);
  const observedAt = noLater(inventory.observedAt, now);
  if (known !== null && observedAt < known) return { accepted: 0, ignored: inventory.machines.length };
  await db
    .updateTable("machine_clusters")
    .set({ inventory_observed_at: observedAt })
    .where("deployment_id", "=", id)
    .execute();
  const live = new Map((await liveMachines(db, id)).map((row) => [row.machine_id, row]));
  // A machine that the list names twice: the last entry counts.
  const reported = new Map(inventory.machines.map((report) => [report.machineId, report]));
  let accepted = 0;
  for (const report of reported.values()) {
    if (await store(call, id, live.get(report.machineId), report, deployment.platform === "kubernetes")) accepted += 1;
  }
  await requireMachineRoom(call, id);
  if (inventory.complete) await markAbsent(call, [...live.values()], reported, observedAt);
  return { accepted, ignored: inventory.machines.length - accepted };
}

/** A time in the future counts as now, because the cluster's clock may be ahead. */
function noLater(text: string, now: Date): Date {
  const at = new Date(text);
  return at > now ? now : at;
}

/** False: the report is ignored. Only machines of a Kubernetes cluster may appear without having joined. */
async function store(
  { db, now }: Context,
  deploymentId: string,
  row: MachineRow | undefined,
  report: MachineReport,
  mayAppear: boolean,
): Promise<boolean> {
  const heard = noLater(report.lastHeartbeat, now);
  if (row !== undefined) {
    const next = afterReport(stateOf(row), report.status, heard, now);
    const blockers = next.drainCancelledAt === null ? report.drainBlockers : [];
    await updateMachine(db, row.id, next, { ...detailsOf(report), drainBlockers: blockers });
    return true;
  }
  if (!mayAppear || report.status === "removed") return false;
  const machine = { deploymentId, machineId: report.machineId, tokenId: null, publicKey: null, createdAt: now };
  const unseen = { status: "joining", statusSince: now, lastHeartbeat: heard, reported: null, revision: 0 } as const;
  const state = afterReport({ ...unseen, ...NO_WISHES }, report.status, heard, now);
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
  const { drainRequestedAt: _r, drainDeadlineAt: _d, drainForce: _f, drainedAt: _e, ...details } = rest;
  return details;
}
