import type { ItemStatus } from "../../../contract/deployment-info.ts";
import type { DeploymentStatus } from "../../../contract/deployment-state.ts";

/** What is known of the deployment that stands for the item in its group. */
export interface ItemDeployment {
  readonly status: DeploymentStatus;
  readonly connectivity: "online" | "stale" | "never";
  /** A fresh report says so of one of its resources. */
  readonly unhealthy: boolean;
}

const LEAVING: readonly DeploymentStatus[] = [
  "delete-pending",
  "deleting",
  "teardown-required",
  "teardown-failed",
  "deleted",
];

/** Pure. Without a deployment of the item's purpose nothing has begun; one that left unheard of never counted. */
export function itemStatus(deployment: ItemDeployment | undefined): ItemStatus {
  if (deployment === undefined) return "not-started";
  const { status, connectivity, unhealthy } = deployment;
  if (LEAVING.includes(status)) return connectivity === "never" ? "not-started" : "revoked";
  switch (status) {
    case "pending":
    case "waiting-for-machines":
      return "waiting";
    case "initial-setup":
    case "provisioning":
    case "update-pending":
    case "updating":
      return "applying";
    case "running":
      if (connectivity === "never") return "verifying";
      return connectivity === "stale" || unhealthy ? "needs-attention" : "connected";
    default:
      return "needs-attention";
  }
}
