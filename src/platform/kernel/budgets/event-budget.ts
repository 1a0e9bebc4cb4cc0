import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type EventType, FACTS, PROGRESS } from "../../../contract/events/events.ts";
import type { Db } from "../../database/db.ts";
import type { Caller } from "../tenancy/principal.ts";
import type { Budgets } from "./budgets.ts";

/** Whose the noise of a deployment may be: of its reports, and of requests with its customer's tokens. */
export interface Teller {
  readonly budgets: Budgets;
  readonly principal: Caller;
}

interface Told {
  readonly type: EventType;
  readonly deploymentId?: string;
}

/** What a manager's reports alone cause; told by a budget each, so that one kind of noise does not hide the other. */
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
 * Undefined when the event is left out: reports without end fill neither the table nor the lists of others. What people and
 * the vendor's keys do is always written, and takes nothing of the customer's budget.
 * @throws RATE_LIMITED for what a customer's token does too often: the act and its event are one.
 */
export async function toldBy(
  db: Db,
  { type, deploymentId }: Told,
  now: Date,
  { budgets, principal }: Teller,
): Promise<"customer" | "other" | undefined> {
  if (deploymentId === undefined) return "other";
  const since = new Date(now.getTime() - HOUR_MS);
  const told = (which: RawBuilder<SqlBool>, size: number) => countTold(db, deploymentId, since, which, size + 1);
  for (const [name, types] of [
    ["deployment-report-events", REPORTED],
    ["deployment-progress-events", REPORTED_PROGRESS],
  ] as const) {
    if (!types.has(type)) continue;
    const held = await told(sql<SqlBool>`type = any (${[...types]}::text[])`, budgets.size(name));
    return budgets.fits(name, 1 + held) ? "other" : undefined;
  }
  if (!isCustomers(principal) || !REQUESTED.has(type)) return "other";
  const name = "deployment-request-events";
  budgets.require(name, deploymentId, 1 + (await told(sql<SqlBool>`by_customer`, budgets.size(name))));
  return "customer";
}

function isCustomers(principal: Caller): boolean {
  return principal.kind === "serviceAccount" && /^deployment(-group)?$/.test(principal.scope.type);
}

const HOUR_MS = 3_600_000;

/** Of those since then, `most` at most. */
async function countTold(
  db: Db,
  deploymentId: string,
  since: Date,
  which: RawBuilder<SqlBool>,
  most: number,
): Promise<number> {
  const { rows } = await sql<{ told: number }>`
    select count(*)::integer as told from (
      select from events
      where deployment_id = ${deploymentId} and created_at > ${since} and ${which}
      limit ${most}
    ) e`.execute(db);
  return rows[0]?.told ?? 0;
}
