import { sql } from "kysely";
import type { EventState, EventType } from "../../contract/events.ts";
import type { Topic } from "../../contract/managers.ts";
import type { Db } from "../database.ts";
import { newId } from "../ids.ts";
import { json } from "./json.ts";

export interface NewEvent {
  readonly type: EventType;
  /** Owner; workspace and, by `deploymentId`, the group are looked up. */
  readonly projectId: string;
  readonly deploymentId?: string;
  readonly releaseId?: string;
  readonly debugSessionId?: string;
  /** The fields of the type's row in §13, without `type`. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Default `none`: a fact. */
  readonly state?: EventState;
}

export async function insertEvent(db: Db, event: NewEvent, now: Date): Promise<string> {
  const id = newId("event");
  const { type, projectId, deploymentId = null } = event;
  await db
    .insertInto("events")
    .values((eb) => ({
      id,
      workspace_id: eb.selectFrom("projects").select("workspace_id").where("id", "=", projectId),
      project_id: projectId,
      deployment_id: deploymentId,
      deployment_group_id: eb.selectFrom("deployments").select("deployment_group_id").where("id", "=", deploymentId),
      release_id: event.releaseId ?? null,
      debug_session_id: event.debugSessionId ?? null,
      type,
      data: json({ type, ...event.data }),
      state: json(event.state ?? "none"),
      created_at: now,
    }))
    .execute();
  return id;
}

/**
 * One row a (manager, topic, deployment): raising again replaces it, so the feed cannot grow. The row carries the
 * transaction's id; a reader's cursor is a snapshot, and what the snapshot did not see is new (work-feed/store.ts).
 *
 * @returns the manager to wake after the commit; undefined when the deployment has none.
 */
export async function insertFeedTopic(
  db: Db,
  topic: Topic,
  deploymentId: string,
  managerId: string | undefined,
): Promise<string | undefined> {
  const manager =
    managerId ??
    (await db.selectFrom("deployments").select("manager_id").where("id", "=", deploymentId).executeTakeFirst())
      ?.manager_id;
  if (manager === undefined || manager === null) return undefined;
  await db
    .insertInto("work_feed")
    .values({ manager_id: manager, topic, deployment_id: deploymentId, xid: sql`pg_current_xact_id()` })
    .onConflict((oc) =>
      oc.columns(["manager_id", "topic", "deployment_id"]).doUpdateSet({ xid: sql`pg_current_xact_id()` }),
    )
    .execute();
  return manager;
}
