import type { DeploymentRow } from "../../database/tables/deployments.ts";
import { abandonRequests } from "../access-requests/abandon.ts";
import { expirePending } from "../commands/settle.ts";
import type { SettledCall } from "../commands/settled.ts";
import { stopSessions } from "../debug-sessions/ended.ts";
import { closeToMachines } from "../machines/revoke.ts";
import { updateDeployment } from "./store.ts";

/** What else ends with a deployment, beside its tokens, lease and commands: each area adds its line. */
const HOOKS: readonly ((call: SettledCall, deployment: DeploymentRow) => Promise<void>)[] = [
  abandonRequests,
  closeToMachines,
  stopSessions,
];

/** A deleted deployment leaves nothing open (§24.4): tokens revoked, lease gone, waiting commands EXPIRED. */
export async function deploymentEnded(call: SettledCall, row: DeploymentRow): Promise<void> {
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
  for (const hook of HOOKS) await hook(call, row);
  await expirePending(call, { deploymentId: row.id });
}
