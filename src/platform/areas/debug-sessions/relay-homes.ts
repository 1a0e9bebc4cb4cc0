import { sql } from "kysely";
import type { Db } from "../../database/db.ts";

/**
 * Where the two sides of a session meet. A replica that does not renew its lease is the home of no session any more.
 * Leases are judged by the database's clock alone, because those of the replicas differ.
 */
const LEASE = sql<Date>`clock_timestamp() + interval '5 seconds'`;

/** A process of the platform. */
export interface Replica {
  readonly id: string;
  /** Where the other replicas reach this one; null: nowhere. */
  readonly peerUrl: string | null;
}

export async function renewLease(db: Db, { id, peerUrl }: Replica): Promise<void> {
  await db
    .insertInto("relay_replicas")
    .values({ id, peer_url: peerUrl, lease_until: LEASE })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ lease_until: LEASE }))
    .execute();
}

export async function endLease(db: Db, replicaId: string): Promise<void> {
  await db.deleteFrom("relay_replicas").where("id", "=", replicaId).execute();
}

/** For the only process on its database: what is stored is of a process that was killed. */
export async function endAllLeases(db: Db): Promise<void> {
  await db.deleteFrom("relay_replicas").execute();
}

export async function forgetDeadReplicas(db: Db): Promise<void> {
  const old = sql<Date>`clock_timestamp() - interval '1 hour'`;
  await db.deleteFrom("relay_replicas").where("lease_until", "<", old).execute();
}

/** Undefined while no living replica is the session's home. */
export async function homeOf(db: Db, sessionId: string): Promise<Replica | undefined> {
  const row = await db
    .selectFrom("relay_homes as h")
    .innerJoin("relay_replicas as r", "r.id", "h.replica_id")
    .select(["r.id", "r.peer_url"])
    .where("h.session_id", "=", sessionId)
    .where("r.lease_until", ">", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  return row && { id: row.id, peerUrl: row.peer_url };
}

/**
 * Makes the replica the session's home, for one more socket. Must be in the transaction that found no other home.
 *
 * @returns the socket's number, which grows over all homes of the session.
 */
export async function takeHome(db: Db, sessionId: string, replicaId: string): Promise<number> {
  const { sockets } = await db
    .insertInto("relay_homes")
    .values({ session_id: sessionId, replica_id: replicaId, sockets: 1 })
    .onConflict((conflict) =>
      conflict.column("session_id").doUpdateSet((eb) => ({
        replica_id: replicaId,
        sockets: eb("relay_homes.sockets", "+", 1),
      })),
    )
    .returning("sockets")
    .executeTakeFirstOrThrow();
  return sockets;
}

/** Those of the sessions whose home the replica is. */
export async function homedIn(db: Db, replicaId: string, sessionIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("relay_homes")
    .select("session_id")
    .where("replica_id", "=", replicaId)
    .where("session_id", "in", sessionIds)
    .execute();
  return new Set(rows.map(({ session_id }) => session_id));
}
