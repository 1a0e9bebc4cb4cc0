import { isLabelSelector } from "../../../base/label-selector.ts";
import type { debugRelayRoutes } from "../../../contract/debug-sessions/debug-relay.ts";
import { DEBUG_SESSION_MAX_MS } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { BodyOf } from "../../../contract/wire/route.ts";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import type { DebugSessionRow } from "../../database/tables/debug-sessions.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, notFound, PlatformError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { asOf } from "../access-requests/lifecycle.ts";
import { findOfDeployment } from "../access-requests/store.ts";
import { getDeployment } from "../deployments/read/get.ts";
import { requireHeard } from "../managers/record/store.ts";
import { refuseAutomation, type Settings, settingsOf } from "../workspaces/store.ts";
import { type Asked, covers } from "./permission.ts";
import { insertSession, NOTHING_TOLD, requireSessionBudget } from "./store.ts";
import { mintTicket, type Ticket } from "./tickets.ts";

type Context = Pick<Call, "db" | "principal" | "now" | "config" | "raise" | "proof" | "budgets">;
type Body = BodyOf<(typeof debugRelayRoutes)["request"]>;

const DEFAULT_MINUTES = 60;

/** §19.1: creates a pending session and notifies the manager. The customer's cluster may still refuse it. */
export async function requestDebug(
  call: Context,
  deploymentId: string,
  body: Body,
): Promise<{ readonly row: DebugSessionRow; readonly ticket: Ticket }> {
  const { principal, now } = call;
  const deployment = await getDeployment(call, deploymentId);
  if (deployment.status === "deleted") throw notFound("deployment");
  await requireSessionBudget(call, deploymentId);
  const settings = await settingsOf(call.db, deployment.workspace_id);
  await refuseAutomation(call, settings);
  await requireHeard(call, deployment.id);
  const { mode, namespace, clientKey, ports = null, selector = null } = body;
  const asked = { mode, namespace, clientKey, ports, selector };
  refuseUnfit(asked);
  const request = await requireYes(call, deploymentId, asked, body.accessRequestId, settings);
  const minutes = body.minutes ?? DEFAULT_MINUTES;
  const ends = [minutes * 60_000, DEBUG_SESSION_MAX_MS].map((ms) => now.getTime() + ms);
  const until = request?.approved_until?.getTime() ?? Number.POSITIVE_INFINITY;
  const row: DebugSessionRow = {
    id: newId("dbg"),
    workspace_id: deployment.workspace_id,
    project_id: deployment.project_id,
    deployment_id: deployment.id,
    owner: (principal.kind === "user" ? principal.email : principal.id).slice(0, 128),
    owner_id: principal.id,
    state: "pending",
    mode: deployment.deployment_model,
    provider: deployment.platform,
    error: null,
    access: { ...asked, minutes, reason: body.reason, accessRequestId: request?.id ?? null },
    access_request_id: request?.id ?? null,
    close_reason: null,
    ...NOTHING_TOLD,
    created_at: now,
    expires_at: new Date(Math.min(...ends, until)),
    ended_at: null,
  };
  await insertSession(call.db, row);
  await call.raise("debug-sessions", deployment.id);
  return { row, ticket: await mintTicket(call, row.id, "attach") };
}

/** A selector chooses pods, and ports are those of connections. @throws VALIDATION_ERROR */
function refuseUnfit({ mode, ports, selector }: Asked): void {
  if (ports !== null && mode !== "port-forward") {
    throw invalid({ path: "body.ports", message: "must be left out unless mode is port-forward" });
  }
  if (selector !== null && mode === "read") {
    throw invalid({ path: "body.selector", message: "must be left out when mode is read" });
  }
  if (selector !== null && !isLabelSelector(selector)) {
    throw invalid({ path: "body.selector", message: "must be a label selector, as of kubectl -l" });
  }
}

/**
 * Checks the customer's approval, where the workspace requires one or the caller names one.
 * @throws ACCESS_REQUEST_REQUIRED
 */
async function requireYes(
  { db, now }: Context,
  deploymentId: string,
  asked: Asked,
  accessRequestId: string | undefined,
  { debugPermissionMode }: Settings,
): Promise<AccessRequestRow | undefined> {
  if (accessRequestId === undefined) {
    if (debugPermissionMode === "auto") return undefined;
    throw new PlatformError("ACCESS_REQUEST_REQUIRED");
  }
  const stored = await findOfDeployment(db, deploymentId, accessRequestId);
  const request = stored && asOf(stored, now);
  if (request === undefined || !covers(request, asked, now)) {
    throw new PlatformError("ACCESS_REQUEST_REQUIRED");
  }
  return request;
}
