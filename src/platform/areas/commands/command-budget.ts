import { sql } from "kysely";
import type { Call } from "../../kernel/call/call.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";

const HOUR_MS = 3_600_000;

/**
 * Limits the commands of a deployment: each keeps up to 150 kB of params for 90 days, and lists of the whole project
 * read past them. Commands of plans are not limited here, because the customer approved each plan.
 * @throws RATE_LIMITED beyond the hourly budget, BUDGET_EXCEEDED beyond the budget of bytes.
 */
export async function requireCommandBudget(
  { db, now, budgets }: Pick<Call, "db" | "now" | "budgets">,
  deploymentId: string,
  params: unknown,
): Promise<void> {
  const { rows } = await sql<{ made: number; bytes: number }>`
    select (
      select count(*)::integer from (
        select from commands
        where deployment_id = ${deploymentId} and access_request_id is null
          and created_at > ${new Date(now.getTime() - HOUR_MS)}
        limit ${budgets.size("deployment-commands")}
      ) h
    ) as made, (
      select coalesce(sum(coalesce(octet_length(params), 0) + coalesce(octet_length(result), 0)), 0)::float8
      from commands where deployment_id = ${deploymentId}
    ) as bytes`.execute(db);
  const [stored] = rows;
  if (stored === undefined) throw new Error("a select of aggregates has one row");
  budgets.require("deployment-commands", deploymentId, stored.made + 1);
  budgets.require(
    "deployment-command-bytes",
    deploymentId,
    stored.bytes + (params === undefined ? 0 : bytesOf(params)),
  );
}
