import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { isHidden } from "../../kernel/tenancy/hidden.ts";
import { revokeManagerKeys } from "./record/store.ts";

/**
 * Updates a manager with the deployment that it runs as (§9), in the same transaction: when the deployment fails, the
 * manager has failed to start; when it is deleted, so is the manager.
 */
export async function managerFollows({ db, now }: Pick<Call, "db" | "now">, row: DeploymentRow): Promise<void> {
  if (!isHidden(row)) return;
  const move = (from: "provisioning" | "deleting", to: "failed" | "deleted") =>
    db
      .updateTable("managers")
      .set({ setup_status: to, setup_changed_at: now })
      .where("internal_deployment_id", "=", row.id)
      .where("setup_status", "=", from)
      .returning("id")
      .executeTakeFirst();
  if (row.status.endsWith("-failed")) await move("provisioning", "failed");
  if (row.status !== "deleted") return;
  const gone = await move("deleting", "deleted");
  if (gone !== undefined) await revokeManagerKeys(db, gone.id, "both", now);
}
