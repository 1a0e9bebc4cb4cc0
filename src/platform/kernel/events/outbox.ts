import { type RawBuilder, sql } from "kysely";
import type { EventState, EventType } from "../../../contract/events/events.ts";
import type { Topic } from "../../../contract/managers/managers.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { Kept } from "../../database/tables/kept.ts";
import { type EventAuthor, paidBy } from "../budgets/event-budget.ts";
import { newId } from "../ids.ts";
import { servesDeployment } from "../tenancy/serves.ts";
import { judged, kept } from "../tenancy/stored-error.ts";

export interface NewEvent {
  readonly type: EventType;
  /** The project that owns the event. The workspace and, by `deploymentId`, the group are looked up. */
  readonly projectId: string;
  readonly deploymentId?: string;
  readonly releaseId?: string;
  readonly debugSessionId?: string;
  /** The fields of the type's row in §13, without `type`. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Default `none`: the event reports a fact and has no state. */
  readonly state?: NewEventState;
}

/** As stored. Only `shown` may put the error of a failure into an answer. */
export type NewEventState = Exclude<EventState, object> | Kept<EventState>;

/** The value of `events.state`. */
export function eventState(state: NewEventState): RawBuilder<Kept<EventState>> {
  return json(state as Kept<EventState>);
}

export function failedWith(error: Kept<StoredError>): Kept<EventState> {
  return kept({ failed: { error: judged(error) } });
}

/** Writes the event of a request, within the budgets of its deployment. */
export async function insertBudgetedEvent(db: Db, event: NewEvent, now: Date, author: EventAuthor): Promise<void> {
  const by = await paidBy(db, event, now, author);
  if (by !== undefined) await insertEvent(db, event, now, by);
}

export async function insertEvent(
  db: Db,
  event: NewEvent,
  now: Date,
  by: "customer" | "other" = "other",
): Promise<string> {
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
      state: eventState(event.state ?? "none"),
      by_customer: by === "customer",
      created_at: now,
    }))
    .execute();
  return id;
}

/**
 * Marks a topic as changed. One row for each manager, topic and deployment: raising again replaces it, so the feed
 * cannot grow. The row carries the transaction's id. A reader's cursor is a snapshot, and the reader treats rows that
 * the snapshot did not see as new (work-feed/store.ts).
 *
 * @returns the manager to wake after the commit; undefined when no manager serves the deployment.
 */
export async function insertFeedTopic(
  db: Db,
  topic: Topic,
  deploymentId: string,
  managerId: string | undefined,
): Promise<string | undefined> {
  const manager =
    managerId ??
    (
      await db
        .selectFrom("deployments as d")
        .innerJoin("managers as m", "m.id", "d.manager_id")
        .select("m.id")
        .where("d.id", "=", deploymentId)
        .where(servesDeployment)
        .executeTakeFirst()
    )?.id;
  if (manager === undefined) return undefined;
  await db
    .insertInto("work_feed")
    .values({ manager_id: manager, topic, deployment_id: deploymentId, xid: sql`pg_current_xact_id()` })
    .onConflict((oc) =>
      oc.columns(["manager_id", "topic", "deployment_id"]).doUpdateSet({ xid: sql`pg_current_xact_id()` }),
    )
    .execute();
  return manager;
}
