import { sql } from "kysely";
import { isLabelSelector } from "../../../base/label-selector.ts";
import type {
  AccessRequest,
  accessRequestRoutes,
  PlanLine,
} from "../../../contract/access-requests/access-requests.ts";
import { DEBUG_PLUGIN, MACHINES_PLUGIN } from "../../../contract/operations/builtin-plugins.ts";
import { planHash } from "../../../contract/operations/plan-hash.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { actorOf } from "../../kernel/tenancy/principal.ts";
import { requireManagerOf } from "../managers/record/store.ts";
import {
  type Catalogue,
  type CatalogueOperation,
  catalogueOf,
  findOperation,
  highestTier,
  unknownOperation,
} from "../operations/catalogue.ts";
import { checkParams, checkSizes } from "../operations/params/params.ts";
import { isLive, requireTarget } from "../operations/target.ts";
import { refuseAutomation } from "../workspaces/store.ts";
import { toRecord } from "./record.ts";
import { insertRequest } from "./store.ts";

const DEFAULT_MAX_MINUTES = 480;
const DEFAULT_DECIDE_WITHIN_MINUTES = 1440;
const MINUTE_MS = 60_000;

/** Stores a plan. It is never changed afterwards: a changed plan is a new request (§2.4). */
export async function create(call: Call<typeof accessRequestRoutes.create>): Promise<AccessRequest> {
  const { db, principal, now, body } = call;
  const lines = body.commands.map(({ params = {} }, index) => ({ path: `/commands/${index}/params`, params }));
  checkSizes(lines);
  const debug = body.debug ?? false;
  refuseMixed(body.commands, debug);
  if (debug) refuseSelectors(body.commands);
  const target = await requireTarget(db, principal, body.deploymentId);
  if (!isLive(target)) throw notFound("deployment");
  await requireManagerOf(db, target.id);
  await refuseAutomation(call);
  const operations = resolve(await catalogueOf(db, target.project_id), body.commands);
  checkParams(lines.map((line, index) => ({ ...line, schema: operations[index]?.operation.paramsSchema })));
  const disabled = operations.filter(({ plugin }) => !plugin.enabled).map(({ plugin }) => plugin.name);
  if (disabled.length > 0) throw new PlatformError("PLUGIN_DISABLED", { context: { names: [...new Set(disabled)] } });

  const id = newId("ar");
  const risk = highestTier(operations.map(({ operation }) => operation.tier));
  const plan = { requestId: id, deploymentId: target.id, risk, commands: body.commands };
  const decideWithinMinutes = body.decideWithinMinutes ?? DEFAULT_DECIDE_WITHIN_MINUTES;
  const row: AccessRequestRow = {
    id,
    workspace_id: target.workspace_id,
    project_id: target.project_id,
    deployment_id: target.id,
    remediation_plan_id: body.remediationPlanId,
    title: body.title,
    reason: body.reason ?? null,
    commands: body.commands,
    risk,
    plan_hash: planHash(plan),
    max_minutes: body.maxMinutes ?? DEFAULT_MAX_MINUTES,
    debug,
    decide_before: new Date(now.getTime() + decideWithinMinutes * MINUTE_MS),
    status: "pending-approval",
    execution: "idle",
    approved_until: null,
    decisions: [],
    materialized: null,
    queued_by: null,
    queued_at: null,
    stale_since: null,
    closed_at: null,
    created_by: actorOf(principal),
    created_at: now,
    updated_at: now,
  };
  await insertRequest(db, row);
  await requireRequestBudget(call, target.id);
  return toRecord(row, [], call);
}

/** Counted with the new one. @throws RATE_LIMITED or BUDGET_EXCEEDED */
async function requireRequestBudget(
  { db, now, budgets }: Pick<Call, "db" | "now" | "budgets">,
  deploymentId: string,
): Promise<void> {
  const { made, bytes } = await db
    .selectFrom("access_requests")
    .select([
      sql<number>`count(*) filter (where created_at > ${new Date(now.getTime() - 60 * MINUTE_MS)})::integer`.as("made"),
      sql<number>`coalesce(sum(pg_column_size(commands)), 0)::float8`.as("bytes"),
    ])
    .where("deployment_id", "=", deploymentId)
    .executeTakeFirstOrThrow();
  budgets.require("deployment-new-access-requests", deploymentId, made);
  budgets.require("deployment-access-request-bytes", deploymentId, bytes);
}

/** Debug sessions and machines need a request of their own: its lines grant something and run no command. */
function refuseMixed(lines: readonly PlanLine[], debug: boolean): void {
  const isOf = (plugin: string) => (line: PlanLine) => line.command.startsWith(`${plugin}/`);
  const machines = !debug && lines.some(isOf(MACHINES_PLUGIN));
  const issues = lines.flatMap((line, index) => {
    const problem =
      isOf(DEBUG_PLUGIN)(line) !== debug
        ? `must ${debug ? "" : "not "}be of ${DEBUG_PLUGIN}/*`
        : machines && !isOf(MACHINES_PLUGIN)(line)
          ? `must be of ${MACHINES_PLUGIN}/*, as another line of this plan is`
          : undefined;
    return problem === undefined ? [] : [{ path: `body.commands.${index}.command`, message: problem }];
  });
  if (issues.length > 0) throw invalid(...issues);
}

/** What the debug session of such a line would be refused for: a customer should not have to approve it. */
function refuseSelectors(lines: readonly PlanLine[]): void {
  const issues = lines.flatMap(({ params = {} }, index) =>
    typeof params.selector !== "string" || isLabelSelector(params.selector)
      ? []
      : [{ path: `body.commands.${index}.params.selector`, message: "must be a label selector, as of kubectl -l" }],
  );
  if (issues.length > 0) throw invalid(...issues);
}

function resolve(catalogue: Catalogue, lines: readonly PlanLine[]): readonly CatalogueOperation[] {
  const unknown: string[] = [];
  const found = lines.flatMap(({ command }) => {
    const [plugin = "", operation = ""] = command.split("/");
    const resolved = findOperation(catalogue, plugin, operation);
    if (resolved === undefined) unknown.push(command);
    return resolved ?? [];
  });
  if (unknown.length > 0) throw unknownOperation(unknown);
  return found;
}
