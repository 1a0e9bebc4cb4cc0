import { sql } from "kysely";
import { type EventType, FACTS, PROGRESS } from "../../contract/events.ts";
import type { Db } from "../database.ts";
import type { Budgets } from "./budgets.ts";
import type { Caller } from "./principal.ts";

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
 * Whether the event is written: reports without end fill neither the table nor the lists of others. What people and the
 * vendor's keys do is always written.
 * @throws RATE_LIMITED for what a customer's token does too often: the act and its event are one.
 */
export async function isTold(db: Db, { type, deploymentId }: Told, now: Date, teller: Teller): Promise<boolean> {
  if (deploymentId === undefined) return true;
  const told = (types: ReadonlySet<EventType>, size: number) => countTold(db, deploymentId, [...types], size + 1, now);
  const { budgets, principal } = teller;
  for (const [name, types] of [
    ["deployment-report-events", REPORTED],
    ["deployment-progress-events", REPORTED_PROGRESS],
  ] as const) {
    if (types.has(type)) return budgets.fits(name, 1 + (await told(types, budgets.size(name))));
  }
  if (isCustomers(principal) && REQUESTED.has(type)) {
    const name = "deployment-request-events";
    budgets.require(name, deploymentId, 1 + (await told(REQUESTED, budgets.size(name))));
  }
  return true;
}

function isCustomers(principal: Caller): boolean {
  return principal.kind === "serviceAccount" && /^deployment(-group)?$/.test(principal.scope.type);
}

const HOUR_MS = 3_600_000;

/** Of the last hour, `most` of them at most. */
async function countTold(
  db: Db,
  deploymentId: string,
  types: readonly EventType[],
  most: number,
  now: Date,
): Promise<number> {
  const { rows } = await sql<{ told: number }>`
    select count(*)::integer as told from (
      select from events
      where deployment_id = ${deploymentId} and created_at > ${new Date(now.getTime() - HOUR_MS)}
        and type = any (${types}::text[])
      limit ${most}
    ) e`.execute(db);
  return rows[0]?.told ?? 0;
}
