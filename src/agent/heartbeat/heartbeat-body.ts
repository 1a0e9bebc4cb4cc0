import type { ListedDeployment } from "../deployments/listed-deployment.ts";
import type { AgentConfig } from "../kernel/config.ts";
import type { Snapshot } from "../kernel/snapshot.ts";
import type { HeartbeatBody } from "./heartbeat.ts";

/** What a heartbeat says of this agent at the moment it is sent. */
export function heartbeatBody(
  { managerUrl }: Pick<AgentConfig, "managerUrl">,
  version: string,
  deployments: Snapshot<ListedDeployment>,
): () => HeartbeatBody {
  return () => {
    const active = deployments.values().filter(({ status }) => status === "running").length;
    return {
      status: "healthy",
      url: managerUrl,
      managementConfigs: { kubernetes: { platform: "kubernetes" } },
      version,
      metrics: {
        activeDeployments: active,
        pendingDeployments: deployments.size - active,
        memoryUsageMb: Math.round(process.memoryUsage.rss() / 1_048_576),
      },
    };
  };
}
