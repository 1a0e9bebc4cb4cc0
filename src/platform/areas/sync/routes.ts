import type { Static } from "typebox";
import type { SyncDeployment, syncRoutes } from "../../../contract/deployments/sync.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { Filling } from "../../kernel/call/page.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { holder, released, renewed } from "../deployments/lifecycle/lease.ts";
import { toDeployment } from "../deployments/read/record.ts";
import { deploymentsOf, findServed, servedDeployments, updateDeployment } from "../deployments/read/store.ts";
import { acquire } from "./acquire.ts";
import { reconcile } from "./reconcile.ts";
import { hasTarget, managementConfigOf, type Surroundings, surroundingsOf, toItem, toState, toTarget } from "./work.ts";

type Routes = typeof syncRoutes;

export const handlers: Handlers<Routes> = {
  async list(call) {
    ownManager(call.principal, call.body?.managerId);
    return list(call, call.body ?? {});
  },
  async context(call) {
    ownManager(call.principal, call.body.managerId);
    const row = await assigned(call, call.body.deploymentId);
    return toItem(row, await surroundingsOf(call.db, [row], call.config.sealingKey));
  },
  acquire: (call) => acquire(call, ownManager(call.principal, call.body.managerId), call.body),
  renew,
  async reconcile(call) {
    ownManager(call.principal, call.body.managerId);
    const found = await findServed(call.db, call.principal, call.body.deploymentId);
    if (found === undefined) throw notFound("deployment");
    const { row, resendResources } = await reconcile(call, found, call.body);
    const around = await surroundingsOf(call.db, [row], call.config.sealingKey, hasTarget(row) ? [row] : []);
    const target = toTarget(row, around);
    return {
      success: true,
      current: toState(row, around),
      ...(target && { target }),
      ...(resendResources && { resendResources }),
    };
  },
  async release(call) {
    ownManager(call.principal, call.body.managerId);
    const row = await assigned(call, call.body.deploymentId);
    const lease = released(row, call.body.session, call.now);
    if (lease !== row) await updateDeployment(call.db, row.id, lease);
    return { success: true };
  },
};

/** The caller's own manager. A body that names another one gets NOT_FOUND, because the caller cannot see it (§15). */
function ownManager(principal: Principal, named: string | undefined): string {
  const scope = principal.kind === "serviceAccount" ? principal.scope : undefined;
  if (scope?.type !== "manager") throw new Error("a sync route lets managers in only");
  if (named !== undefined && named !== scope.managerId) throw notFound("manager");
  return scope.managerId;
}

async function assigned(call: Pick<Call, "db" | "principal">, id: string): Promise<DeploymentRow> {
  const row = await findServed(call.db, call.principal, id);
  if (row === undefined || row.status === "deleted") throw notFound("deployment");
  return row;
}

/** Rows read at a time; each may have half a megabyte. */
const SLICE = 10;

async function list(
  call: Call<Routes["list"]>,
  filters: NonNullable<Static<Routes["list"]["body"]>>,
): Promise<{ deployments: SyncDeployment[]; nextAfter?: string }> {
  const { deploymentIds, statuses, platforms, deploymentGroupId, after, limit = 100 } = filters;
  const reached = deploymentIds === undefined ? deploymentsOf : servedDeployments;
  let found = reached(call.db, call.principal).where("d.status", "<>", "deleted");
  // An empty list matches no deployment; SQL has no empty `in ()`.
  if (deploymentIds !== undefined) found = found.where("d.id", "in", [...deploymentIds, ""]);
  if (statuses !== undefined) found = found.where("d.status", "in", [...statuses, "deleted"]);
  if (platforms !== undefined) found = found.where("d.platform", "in", [...platforms, "" as never]);
  if (deploymentGroupId !== undefined) found = found.where("d.deployment_group_id", "=", deploymentGroupId);
  if (after !== undefined) found = found.where("d.id", ">", after);
  const inOrder = found.orderBy("d.id").limit(limit + 1);
  const ids = (await inOrder.clearSelect().select("d.id").execute()).map(({ id }) => id);
  const filling = new Filling<SyncDeployment>();
  const deployments = filling.items;
  let full = false;
  while (!full && deployments.length < Math.min(limit, ids.length)) {
    const slice = ids.slice(deployments.length, Math.min(limit, deployments.length + SLICE));
    const rows = await reached(call.db, call.principal).where("d.id", "in", slice).orderBy("d.id").execute();
    const around = await surroundingsOf(call.db, rows, call.config.sealingKey);
    full = !rows.every((row) => filling.takes(toSyncDeployment(call, row, around)));
  }
  const nextAfter = deployments.length < ids.length ? deployments.at(-1)?.id : undefined;
  return { deployments, ...(nextAfter !== undefined && { nextAfter }) };
}

function toSyncDeployment(call: Call<Routes["list"]>, row: DeploymentRow, around: Surroundings): SyncDeployment {
  const deployment = toDeployment(row, call);
  const lockedBy = holder(row, call.now) ?? null;
  const { delete_action: deleteAction } = row;
  return {
    ...deployment,
    userEnvironmentVariables: deployment.environmentVariables,
    managementConfig: managementConfigOf(row, around),
    deploymentToken: null,
    lockedBy,
    lockedAt: lockedBy === null ? null : (row.lease_since?.toISOString() ?? null),
    ...((deleteAction === "cleanup" || deleteAction === "detach") && { deleteAction }),
  };
}

async function renew(call: Call<Routes["renew"]>) {
  const { session, deploymentIds } = call.body;
  ownManager(call.principal, call.body.managerId);
  const leases: { deploymentId: string; renewed: boolean; leaseExpiresAt: string | null }[] = [];
  for (const deploymentId of new Set(deploymentIds)) {
    const row = await findServed(call.db, call.principal, deploymentId);
    if (row === undefined) throw notFound("deployment");
    const lease = renewed(row, session, call.now);
    if (lease !== undefined) await updateDeployment(call.db, row.id, lease);
    const leaseExpiresAt = lease?.lease_expires_at?.toISOString() ?? null;
    leases.push({ deploymentId, renewed: lease !== undefined, leaseExpiresAt });
  }
  if (leases.every((each) => !each.renewed)) throw new PlatformError("LEASE_LOST");
  return { success: leases.every((each) => each.renewed), leases };
}
