import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type EventType, FACTS, PROGRESS } from "../../../contract/events/events.ts";
import type { Db } from "../../database/db.ts";
import type { Caller } from "../tenancy/principal.ts";
import type { Budgets } from "./budgets.ts";

/** The caller whose budget pays for an event: a manager for its reports, a customer for requests with its tokens. */
export interface EventAuthor {
  readonly budgets: Budgets;
  readonly principal: Caller;
}

interface AuthoredEvent {
  readonly type: EventType;
  readonly deploymentId?: string;
}

/**
 * Events that only a manager's reports cause. They and progress events have a budget each, so that many events of one
 * kind do not use up the space of the other.
 */
const REPORTED: ReadonlySet<EventType> = new Set([
  "DeploymentReleased",
  "DeploymentFailed",
  "DeploymentDegraded",
  "DeploymentRecovered",
]);
const REPORTED_PROGRESS: ReadonlySet<EventType> = new Set(PROGRESS.filter((type) => type !== "DebuggingAgent"));
const REQUESTED: ReadonlySet<EventType> = new Set(
  FACTS.filter((type) => !REPORTED.has(type) && type !== "DeploymentDeleted"),
);

/**
 * Decides whose budget pays for an event; undefined when the event is dropped. A manager that reports without end fills
 * neither the events table nor the lists of other deployments. Events caused by users and by the vendor's keys are
 * always written and do not count against the customer's budget.
 * @throws RATE_LIMITED when a customer's token is over its budget: the platform refuses the request, because a change
 * without its event must not exist.
 */
export async function paidBy(
  db: Db,
  { type, deploymentId }: AuthoredEvent,
  now: Date,
  { budgets, principal }: EventAuthor,
): Promise<"customer" | "other" | undefined> {
  if (deploymentId === undefined) return "other";
  const since = new Date(now.getTime() - HOUR_MS);
  const countOf = (which: RawBuilder<SqlBool>, size: number) => countEvents(db, deploymentId, since, which, size + 1);
  for (const [name, types] of [
    ["deployment-report-events", REPORTED],
    ["deployment-progress-events", REPORTED_PROGRESS],
  ] as const) {
    if (!types.has(type)) continue;
    const held = await countOf(sql<SqlBool>`type = any (${[...types]}::text[])`, budgets.size(name));
    return budgets.fits(name, 1 + held) ? "other" : undefined;
  }
  if (!isCustomers(principal) || !REQUESTED.has(type)) return "other";
  const name = "deployment-request-events";
  budgets.require(name, deploymentId, 1 + (await countOf(sql<SqlBool>`by_customer`, budgets.size(name))));
  return "customer";
}

function isCustomers(principal: Caller): boolean {
  return principal.kind === "serviceAccount" && /^deployment(-group)?$/.test(principal.scope.type);
}

const HOUR_MS = 3_600_000;

/** Counts matching events after `since`, and stops at `most`. */
async function countEvents(
  db: Db,
  deploymentId: string,
  since: Date,
  which: RawBuilder<SqlBool>,
  most: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from (
      select from events
      where deployment_id = ${deploymentId} and created_at > ${since} and ${which}
      limit ${most}
    ) e`.execute(db);
  return rows[0]?.count ?? 0;
}
