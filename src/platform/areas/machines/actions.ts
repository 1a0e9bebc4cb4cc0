import type { MachineAction } from "../../../contract/machines/machines.ts";
import type { MachineRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { deploymentsOf } from "../deployments/read/store.ts";
import { requireFleet } from "./fleet.ts";
import { asOf, drainCancelled, drained, type MachineState, removed, wanted } from "./state.ts";
import { findMachine, stateOf, updateMachine } from "./store.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "raise">;

async function requireMachine(
  call: Context,
  deploymentId: string,
  machineId: string,
): Promise<{ readonly row: MachineRow; readonly state: MachineState }> {
  await requireFleet(call, deploymentId);
  const row = await findMachine(call.db, deploymentId, machineId);
  if (row === undefined) throw notFound("machine");
  return { row, state: asOf(stateOf(row), call.now) };
}

/** Stores the requested state and notifies the manager, unless nothing has changed. */
async function store(call: Context, row: MachineRow, state: MachineState, next: MachineState): Promise<void> {
  if (next.revision === state.revision) return;
  const details = next.drainCancelledAt === null ? row.details : { ...row.details, drainBlockers: [] };
  await updateMachine(call.db, row.id, next, details);
  await call.raise("machines", row.deployment_id);
}

export interface DrainRequest {
  readonly deadlineSeconds?: number | null;
  readonly force?: boolean;
}

export async function requestDrain(call: Context, id: string, machineId: string, request: DrainRequest): Promise<void> {
  const { row, state } = await requireMachine(call, id, machineId);
  const deadlineAt =
    request.deadlineSeconds == null ? null : new Date(call.now.getTime() + request.deadlineSeconds * 1000);
  const next = drained(state, { deadlineAt, force: request.force ?? false }, call.now);
  if (next === undefined) throw invalidTransition(state.status, "draining", []);
  await store(call, row, state, next);
}

/** False: there was no drain. */
export async function cancelDrain(call: Context, id: string, machineId: string): Promise<boolean> {
  const { row, state } = await requireMachine(call, id, machineId);
  const next = drainCancelled(state, call.now);
  if (next === undefined) throw invalidTransition(state.status, "ready", []);
  await store(call, row, state, next);
  return next !== state;
}

export async function removeMachine(call: Context, id: string, machineId: string): Promise<void> {
  const { row, state } = await requireMachine(call, id, machineId);
  const next = removed(state, call.now);
  if (next === undefined) {
    const context = { status: state.status, statusSince: state.statusSince.toISOString() };
    throw new PlatformError("MACHINE_NOT_DRAINED", { context });
  }
  await store(call, row, state, next);
}

/** Actions in one answer. The manager handles them one by one and then asks again. */
const MAX_ACTIONS = 1000;

/** The open actions of §18.2, for all deployments of the caller or for one. */
export async function listActions(
  call: Pick<Call, "db" | "principal">,
  deploymentId: string | undefined,
): Promise<MachineAction[]> {
  const rows = await deploymentsOf(call.db, call.principal)
    .clearSelect()
    .innerJoin("machines as m", "m.deployment_id", "d.id")
    .innerJoin("machine_clusters as c", "c.deployment_id", "d.id")
    .selectAll("m")
    .select("c.cluster_id")
    .where("d.status", "<>", "deleted")
    .where("m.status", "<>", "removed")
    .where((eb) =>
      eb.or([
        eb("m.drain_requested_at", "is not", null),
        eb("m.drain_cancelled_at", "is not", null),
        eb("m.removal_requested_at", "is not", null),
      ]),
    )
    .$if(deploymentId !== undefined, (query) => query.where("d.id", "=", deploymentId ?? ""))
    .execute();
  return rows
    .flatMap((row) => {
      const request = wanted(stateOf(row));
      return request === undefined ? [] : [{ row, request }];
    })
    .toSorted(
      (a, b) => a.request.requestedAt.getTime() - b.request.requestedAt.getTime() || (a.row.id < b.row.id ? -1 : 1),
    )
    .slice(0, MAX_ACTIONS)
    .map(({ row, request }) => ({
      deploymentId: row.deployment_id,
      clusterId: row.cluster_id,
      machineId: row.machine_id,
      action: request.action,
      requestedAt: request.requestedAt.toISOString(),
      deadlineAt: row.drain_deadline_at?.toISOString() ?? null,
      force: row.drain_force,
      revision: row.revision,
      passedOn: row.passed_on,
    }));
}
