import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { ChangeCall } from "../../../kernel/call/call.ts";
import { updateDeployment } from "../read/store.ts";

/**
 * Closes everything that a deleted deployment has open (§24.4): revokes tokens, frees the lease, expires waiting
 * commands.
 */
export async function deploymentEnded(call: ChangeCall, row: DeploymentRow): Promise<void> {
  await call.db
    .updateTable("api_keys")
    .set({ revoked_at: call.now })
    .where("deployment_id", "=", row.id)
    .where("revoked_at", "is", null)
    .execute();
  await updateDeployment(call.db, row.id, {
    lease_session: null,
    lease_since: null,
    lease_expires_at: null,
    lease_confirmed: false,
    retry_requested: false,
    deleted_at: call.now,
  });
  for (const hook of call.hooks.deploymentEnded) await hook(call, row);
}
