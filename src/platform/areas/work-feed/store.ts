import { sql } from "kysely";
import type { Topic } from "../../../contract/managers/managers.ts";
import type { Db } from "../../database/db.ts";
import { HIDDEN_WORKSPACE } from "../../kernel/tenancy/hidden.ts";
import { servedBy } from "../../kernel/tenancy/serves.ts";

export interface Work {
  readonly topic: Topic;
  readonly deploymentId: string;
}

/** Position in a walk over many rows, in the order of the rows. */
export type After = readonly [topic: string, deploymentId: string] | undefined;

export interface Reading {
  readonly epoch: string;
  /** The snapshot of this reading: `pg_snapshot` as text. */
  readonly snapshot: string;
  readonly work: readonly Work[];
}

/**
 * Reads what was raised and is not visible in `since`, together with its snapshot, in one statement, so that no change
 * falls between the two.
 *
 * A sequence would not work: numbers are assigned before the commit, so a reader can pass a smaller number that commits
 * later. A snapshot says exactly which transactions a reader has seen.
 */
export async function readChanges(
  db: Db,
  managerId: string,
  since: string,
  after: After,
  limit: number,
): Promise<Reading> {
  const beyond = after === undefined ? sql`true` : sql`(f.topic, f.deployment_id) > (${after[0]}, ${after[1]})`;
  const { rows } = await sql<{ epoch: string; snapshot: string; work: Work[] }>`
    select
      (select id from feed_epoch) as epoch,
      pg_current_snapshot()::text as snapshot,
      coalesce(
        (
          select jsonb_agg(jsonb_build_object('topic', n.topic, 'deploymentId', n.deployment_id))
          from (
            select f.topic, f.deployment_id
            from work_feed f
            where f.manager_id = ${managerId}
              and not pg_visible_in_snapshot(f.xid, ${since}::pg_snapshot)
              and ${beyond}
            order by f.topic, f.deployment_id
            limit ${limit}
          ) n
        ),
        '[]'
      ) as work`.execute(db);
  return only(rows);
}

/**
 * The managers for which something was raised that is not visible in `since`; none without `since`. Such rows have a
 * transaction id from its `xmin` on, which the index finds.
 */
export async function readRaised(
  db: Db,
  since: string | undefined,
): Promise<{ readonly snapshot: string; readonly managers: readonly string[] }> {
  const raised =
    since === undefined
      ? sql`false`
      : sql`f.xid >= pg_snapshot_xmin(${since}::pg_snapshot) and not pg_visible_in_snapshot(f.xid, ${since}::pg_snapshot)`;
  const { rows } = await sql<{ snapshot: string; managers: string[] }>`
    select
      pg_current_snapshot()::text as snapshot,
      array(select distinct f.manager_id from work_feed f where ${raised}) as managers`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("a select without from has one row");
  return row;
}

/**
 * Every topic and deployment with open work now. Each topic has the condition of the list that the manager then calls.
 * The manager's own deployment is in none of these lists and is named when a retry or delete of it was requested.
 */
export async function readOpenWork(db: Db, managerId: string, after: After, limit: number): Promise<Reading> {
  const served = servedBy(managerId, "d");
  const beyond = after === undefined ? sql`true` : sql`(w.topic, w.deployment_id) > (${after[0]}, ${after[1]})`;
  const { rows } = await sql<{ epoch: string; snapshot: string; work: Work[] }>`
    select
      (select id from feed_epoch) as epoch,
      pg_current_snapshot()::text as snapshot,
      coalesce(
        (
          select jsonb_agg(jsonb_build_object('topic', n.topic, 'deploymentId', n.deployment_id))
          from (
            select w.topic, w.deployment_id from (
              select 'deployments' as topic, d.id as deployment_id
              from deployments d
              where ${served} and d.status <> 'deleted'
                and (d.workspace_id <> ${HIDDEN_WORKSPACE} or d.retry_requested or d.delete_action is not null)
              union
              select 'commands', c.deployment_id
              from commands c join deployments d on d.id = c.deployment_id
              where ${served} and c.state = 'PENDING'
              union
              select 'access-requests', a.deployment_id
              from access_requests a join deployments d on d.id = a.deployment_id
              where ${served} and a.status = 'queued'
              union
              select 'debug-sessions', s.deployment_id
              from debug_sessions s join deployments d on d.id = s.deployment_id
              where ${served} and d.status <> 'deleted' and s.state in ('pending', 'stopping')
              union
              select 'machines', m.deployment_id
              from machines m join deployments d on d.id = m.deployment_id
              where ${served} and d.status <> 'deleted' and m.status <> 'removed' and (
                (m.drain_requested_at is not null and m.drained_at is null)
                or (m.drain_cancelled_at is not null and m.reported in ('draining', 'drained'))
                or m.removal_requested_at is not null)
            ) w
            where ${beyond}
            order by w.topic, w.deployment_id
            limit ${limit}
          ) n
        ),
        '[]'
      ) as work`.execute(db);
  return only(rows);
}

function only(rows: readonly Reading[]): Reading {
  const [row] = rows;
  if (row === undefined) throw new Error("the feed has lost its epoch");
  return row;
}
