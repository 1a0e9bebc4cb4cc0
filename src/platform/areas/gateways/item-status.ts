import type { ItemStatus } from "../../../contract/deployment-portal/deployment-info.ts";
import type { DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";

/** What the rules use of the deployment that represents the item in its group. */
export interface ItemDeployment {
  readonly status: DeploymentStatus;
  readonly connectivity: "online" | "stale" | "never";
  /** A fresh report says that one of its resources is unhealthy. */
  readonly unhealthy: boolean;
  /** A fresh report has a resource of the item's kind. An application needs none. */
  readonly provides: boolean;
}

/** By a deployment's purpose the type of resource that shows that the customer provides it. */
export const PROVIDED_TYPE = {
  ai: "ai",
  encryption: "vault",
  storage: "storage",
  "container-registry": "artifact-registry",
} as const;

const BEING_DELETED: readonly DeploymentStatus[] = ["delete-pending", "deleting", "teardown-required", "deleted"];

/**
 * Pure. Without a deployment of the item's purpose the item has not started. A deployment that is being deleted and
 * never sent a heartbeat counts as not started either.
 */
export function itemStatus(deployment: ItemDeployment | undefined): ItemStatus {
  if (deployment === undefined) return "not-started";
  const { status, connectivity, unhealthy, provides } = deployment;
  const connected = connectivity !== "never";
  if (BEING_DELETED.includes(status)) return connected ? "revoked" : "not-started";
  const ill = connectivity === "stale" || unhealthy;
  switch (status) {
    case "teardown-failed":
      return connected ? "revoked" : "needs-attention";
    case "pending":
    case "waiting-for-machines":
      return "waiting";
    case "initial-setup":
    case "provisioning":
      return "applying";
    // These deployments have run before, so a missing or bad report matters more than the pending update.
    case "update-pending":
    case "updating":
      return connected && ill ? "needs-attention" : "applying";
    case "running":
      if (!connected) return "verifying";
      if (ill) return "needs-attention";
      return provides ? "connected" : "verifying";
    default:
      return "needs-attention";
  }
}
