import type { Db } from "../../../database/db.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";

/** Whether the deployment's setting `heartbeats` lets how its workloads are leave the cluster. */
export function tellsHealth({ stack_settings }: Pick<DeploymentRow, "stack_settings">): boolean {
  return stack_settings.heartbeats !== "off";
}

/** All that was reported of its resources: once heartbeats are off, nothing of it stays. */
export async function forgetResources(db: Db, deploymentId: string): Promise<void> {
  for (const table of ["resource_heartbeats", "inventory_scopes", "resource_levels"] as const) {
    await db.deleteFrom(table).where("deployment_id", "=", deploymentId).execute();
  }
}
