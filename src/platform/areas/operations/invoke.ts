import { LINES_ONLY_PLUGINS } from "../../../contract/operations/builtin-plugins.ts";
import type { Invocation, operationRoutes } from "../../../contract/operations/operations.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { actorOf } from "../../kernel/tenancy/principal.ts";
import { createCommand, OPERATOR_TARGET } from "../commands/create.ts";
import { requireManagerOf } from "../managers/record/store.ts";
import { staleSince } from "../resources/stale-state.ts";
import { refuseAutomation } from "../workspaces/store.ts";
import { catalogueOf, findOperation } from "./catalogue.ts";
import { checkParams, checkSizes } from "./params/params.ts";
import { decide } from "./policy.ts";
import { policyRules } from "./store.ts";
import { isLive, requireOperationsProject, requireTarget } from "./target.ts";

/** How long the manager has to fetch an operation that needs no approval. */
const DEADLINE_MS = 60 * 60_000;

/**
 * Runs an operation if the project's policy allows it without approval. Otherwise answers so and creates nothing
 * (§2.3).
 */
export async function invoke(call: Call<typeof operationRoutes.invoke>): Promise<Invocation> {
  const { db, principal, now, body } = call;
  const { plugin, operation, params = {} } = body;
  checkSizes([{ path: "/params", params }]);
  const project = await requireOperationsProject(db, principal, call.query.project);
  const target = await requireTarget(db, principal, body.deploymentId);
  if (target.project_id !== project.id) throw notFound("deployment");
  await refuseAutomation(call);
  const found = findOperation(await catalogueOf(db, project.id), plugin, operation);
  if (found === undefined || LINES_ONLY_PLUGINS.includes(plugin)) throw notFound("operation");
  checkParams([{ path: "/params", params, schema: found.operation.paramsSchema }]);
  await requireManagerOf(db, target.id);
  if (!found.plugin.enabled) throw new PlatformError("PLUGIN_DISABLED", { context: { names: [plugin] } });
  if (!isLive(target)) throw invalidTransition(target.status, "operation", []);
  const stale = await staleSince(call, target.id, found.operation.tier, body.acceptStale);
  // The customer's cluster runs an operation of cluster scope only with an approved request, whatever a rule says.
  const isWide = found.operation.scope === "cluster";
  const decision = isWide ? "manual" : decide(await policyRules(db, project.id), plugin, operation);
  const answer = { plugin, operation, tier: found.operation.tier, decision };
  if (decision === "manual") return { ...answer, status: "pending-approval" };
  const command = await createCommand(call, {
    deployment: target,
    name: `${plugin}/${operation}`,
    params,
    target: OPERATOR_TARGET,
    deadline: new Date(now.getTime() + DEADLINE_MS),
    invokedBy: actorOf(principal),
    staleSince: stale,
  });
  return { ...answer, status: "dispatched", commandId: command.id };
}
