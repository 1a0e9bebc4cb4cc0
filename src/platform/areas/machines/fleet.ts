import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { getDeployment } from "../deployments/read/get.ts";
import type { VisibleDeployment } from "../deployments/read/store.ts";

/** §10.1: deployments that are set up and not being deleted. */
const PROVISIONED: readonly DeploymentStatus[] = [
  "provisioning",
  "waiting-for-machines",
  "running",
  "refresh-failed",
  "update-pending",
  "updating",
  "update-failed",
];

function hasMachines({ platform, capabilities }: Pick<DeploymentRow, "platform" | "capabilities">): boolean {
  if (platform === "machines") return true;
  const granted = capabilities?.some(({ key, state }) => key === "machines" && state === "granted") ?? false;
  return platform === "kubernetes" && granted;
}

/** @throws NOT_FOUND outside the caller's scope, MACHINES_DEPLOYMENT_UNAVAILABLE when it has no machines to show. */
export async function requireFleet(call: Pick<Call, "db" | "principal">, id: string): Promise<VisibleDeployment> {
  const deployment = await getDeployment(call, id);
  if (!hasMachines(deployment) || !PROVISIONED.includes(deployment.status)) {
    throw new PlatformError("MACHINES_DEPLOYMENT_UNAVAILABLE");
  }
  return deployment;
}
