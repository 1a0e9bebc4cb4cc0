import { sql } from "kysely";
import type { Machine } from "../../../contract/machines/machine.ts";
import type { JoinToken } from "../../../contract/machines/machines.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { ClusterRow, JoinTokenRow, MachineDetails, MachineRow } from "../../database/tables/machines.ts";
import type { Call } from "../../kernel/call/call.ts";
import { LOWER_ALPHANUMERIC, newId, randomText } from "../../kernel/ids.ts";
import { asOf, isStale, type MachineState, NO_WISHES } from "./state.ts";

/** The deployment's cluster, created on first use. */
export async function clusterOf(db: Db, deploymentId: string): Promise<ClusterRow> {
  await db
    .insertInto("machine_clusters")
    .values({ deployment_id: deploymentId, cluster_id: newId("cluster"), ...UNTOLD })
    .onConflict((conflict) => conflict.column("deployment_id").doNothing())
    .execute();
  const row = await findCluster(db, deploymentId);
  if (row === undefined) throw new Error("the row that was just stored is not there");
  return row;
}

const UNTOLD = {
  inventory_observed_at: null,
  inventory_parts: null,
  join_server: null,
  join_server_at: null,
  join_server_manager: null,
} as const;

/** For reads: undefined while nothing has needed it. */
export function findCluster(db: Db, deploymentId: string): Promise<ClusterRow | undefined> {
  return db.selectFrom("machine_clusters").selectAll().where("deployment_id", "=", deploymentId).executeTakeFirst();
}

export function liveMachines(db: Db, deploymentId: string): Promise<MachineRow[]> {
  return db
    .selectFrom("machines")
    .selectAll()
    .where("deployment_id", "=", deploymentId)
    .where("status", "<>", "removed")
    .orderBy("machine_id")
    .execute();
}

/** The live machine of that id, or the last removed one. */
export function findMachine(db: Db, deploymentId: string, machineId: string): Promise<MachineRow | undefined> {
  return db
    .selectFrom("machines")
    .selectAll()
    .where("deployment_id", "=", deploymentId)
    .where("machine_id", "=", machineId)
    .orderBy("created_at", "desc")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

export function stateOf(row: MachineRow): MachineState {
  return {
    status: row.status,
    statusSince: row.status_since,
    lastHeartbeat: row.last_heartbeat,
    reported: row.reported,
    drainRequestedAt: row.drain_requested_at,
    drainDeadlineAt: row.drain_deadline_at,
    drainForce: row.drain_force,
    drainedAt: row.drained_at,
    drainCancelledAt: row.drain_cancelled_at,
    removalRequestedAt: row.removal_requested_at,
    passedOn: row.passed_on,
    customerCancelledAt: row.customer_cancelled_at,
    revision: row.revision,
  };
}

function columnsOf(state: MachineState) {
  return {
    status: state.status,
    status_since: state.statusSince,
    last_heartbeat: state.lastHeartbeat,
    reported: state.reported,
    drain_requested_at: state.drainRequestedAt,
    drain_deadline_at: state.drainDeadlineAt,
    drain_force: state.drainForce,
    drained_at: state.drainedAt,
    drain_cancelled_at: state.drainCancelledAt,
    removal_requested_at: state.removalRequestedAt,
    passed_on: state.passedOn,
    customer_cancelled_at: state.customerCancelledAt,
    revision: state.revision,
  };
}

/**
 * Of a machine that is new under these names, its id and its node's. Its revision goes on from machines that had one of
 * them: the manager may still hold their drains, and takes a lower revision for an older wish.
 */
export async function newState(
  db: Db,
  deploymentId: string,
  names: readonly string[],
  now: Date,
): Promise<MachineState> {
  const { last } = await db
    .selectFrom("machines")
    .select((eb) => eb.fn.max("revision").as("last"))
    .where("deployment_id", "=", deploymentId)
    .where((eb) => eb.or([eb("machine_id", "in", names), eb("node_name", "in", names)]))
    .executeTakeFirstOrThrow();
  const state = {
    status: "joining",
    statusSince: now,
    lastHeartbeat: now,
    reported: null,
    revision: last ?? 0,
  } as const;
  return { ...state, ...NO_WISHES };
}

/** By the id of the record, which the caller has found under its own tenancy. */
export async function updateMachine(
  db: Db,
  id: string,
  state: MachineState,
  details?: MachineDetails,
  seenIn?: string,
): Promise<void> {
  const set = {
    ...columnsOf(state),
    ...(details !== undefined && { details: json(details) }),
    ...(seenIn !== undefined && { seen_in: seenIn }),
  };
  await db.updateTable("machines").set(set).where("id", "=", id).execute();
}

export interface NewMachine {
  readonly deploymentId: string;
  readonly machineId: string;
  readonly tokenId: string | null;
  readonly publicKey: string | null;
  readonly nodeName: string | null;
  readonly seenIn?: string;
  readonly createdAt: Date;
}

export async function insertMachine(
  db: Db,
  machine: NewMachine,
  state: MachineState,
  details: MachineDetails,
): Promise<void> {
  await db
    .insertInto("machines")
    .values({
      id: randomText(24, LOWER_ALPHANUMERIC),
      deployment_id: machine.deploymentId,
      machine_id: machine.machineId,
      ...columnsOf(state),
      details: json(details),
      token_id: machine.tokenId,
      public_key: machine.publicKey,
      node_name: machine.nodeName,
      seen_in: machine.seenIn ?? null,
      created_at: machine.createdAt,
    })
    .execute();
}

/**
 * Limits the machines of a deployment, including the one just stored: lists have no pages, and reports do not delete
 * rows.
 */
export async function requireMachineRoom(
  { db, budgets }: Pick<Call, "db" | "budgets">,
  deploymentId: string,
): Promise<void> {
  const { held, bytes } = await db
    .selectFrom("machines")
    .select([
      sql<number>`count(*)::integer`.as("held"),
      sql<number>`coalesce(sum(octet_length(details::text)), 0)::float8`.as("bytes"),
    ])
    .where("deployment_id", "=", deploymentId)
    .where("status", "<>", "removed")
    .executeTakeFirstOrThrow();
  budgets.require("deployment-machines", deploymentId, held);
  budgets.require("deployment-machine-bytes", deploymentId, bytes);
}

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

export function toToken(row: JoinTokenRow): JoinToken {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    createdBy: row.created_by,
    expiresAt: iso(row.expires_at),
    maxJoins: row.max_joins,
    joinCount: row.join_count,
    lastUsedAt: iso(row.last_used_at),
    revokedAt: iso(row.revoked_at),
  };
}

export function toMachine(row: MachineRow, now: Date): Machine {
  const state = asOf(stateOf(row), now);
  const { details } = row;
  return {
    machineId: row.machine_id,
    status: state.status,
    statusSince: state.statusSince.toISOString(),
    stale: isStale(state, now),
    lastHeartbeat: state.lastHeartbeat.toISOString(),
    capacityGroup: details.capacityGroup,
    zone: details.zone,
    cpu: details.cpu,
    memory: details.memory,
    storage: details.storage ?? null,
    drainBlockers: details.drainBlockers,
    drainRequestedAt: iso(state.drainRequestedAt),
    drainDeadlineAt: iso(state.drainDeadlineAt),
    drainForce: state.drainForce,
    drainedAt: iso(state.drainedAt),
    publicIp: details.publicIp ?? null,
    overlayIp: details.overlayIp ?? null,
    runtimeDaemonVersion: details.runtimeDaemonVersion ?? null,
    networkHealth: details.networkHealth ?? "unknown",
    wireguardMesh: details.wireguardMesh ?? null,
    wireguardMeshObservedAt: details.wireguardMeshObservedAt ?? null,
    localOverrides: details.localOverrides,
    localOverridesObservedAt: details.localOverridesObservedAt ?? null,
    replicaCount: details.replicaCount,
    conditions: details.conditions ?? [],
    joinState: details.joinState ?? null,
    customerCancelledAt: iso(state.customerCancelledAt),
  };
}
