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

type Fleet = Pick<DeploymentRow, "platform" | "capabilities" | "status">;

/** Undefined: it has machines. Else why not, as far as it is known. */
function lack({
  platform,
  capabilities,
  status,
}: Fleet): { readonly message?: string; readonly hint?: string } | undefined {
  if (!PROVISIONED.includes(status)) return {};
  if (platform === "machines") return undefined;
  if (platform !== "kubernetes") return {};
  const machines = capabilities?.find(({ key }) => key === "machines");
  if (machines?.state === "granted") return undefined;
  // What is installed in the cluster decides; its agent tells the platform, with its reason.
  const reason = machines?.detail == null ? "" : `: ${machines.detail.slice(0, 128)}`;
  const hint =
    "the customer turns machines on (helm's machines.enabled and join.url), and makes a MachinePool for this deployment";
  return { message: `the deployment's cluster offers no machines${reason}`, hint };
}

/** @throws NOT_FOUND outside the caller's scope, MACHINES_DEPLOYMENT_UNAVAILABLE when it has no machines to show. */
export async function requireFleet(call: Pick<Call, "db" | "principal">, id: string): Promise<VisibleDeployment> {
  const deployment = await getDeployment(call, id);
  const lacking = lack(deployment);
  if (lacking !== undefined) throw new PlatformError("MACHINES_DEPLOYMENT_UNAVAILABLE", lacking);
  return deployment;
}
