import { accessRelayRoutes } from "./access-relay.ts";
import { accessRequestRoutes } from "./access-requests.ts";
import { apiKeyRoutes } from "./api-keys.ts";
import { commandRoutes } from "./commands.ts";
import { debugRelayRoutes } from "./debug-relay.ts";
import { debugSessionRoutes } from "./debug-sessions.ts";
import { deploymentGroupRoutes } from "./deployment-groups.ts";
import { deploymentPortalRoutes } from "./deployment-portal.ts";
import { deploymentRoutes } from "./deployments.ts";
import { eventRoutes } from "./events.ts";
import { gatewayRoutes } from "./gateways.ts";
import { gitNamespaceRoutes } from "./git-namespaces.ts";
import { invitationRoutes } from "./invitations.ts";
import { machineRoutes, machineRuntimeRoutes } from "./machines.ts";
import { managerRuntimeRoutes } from "./manager-runtime.ts";
import { managerRoutes } from "./managers.ts";
import { memberRoutes } from "./members.ts";
import { operationRoutes } from "./operations.ts";
import { packageBuilderRoutes } from "./package-builder.ts";
import { packageRoutes } from "./packages.ts";
import { projectRoutes } from "./projects.ts";
import { releaseChannelRoutes } from "./release-channels.ts";
import { releaseRoutes } from "./releases.ts";
import { resolveRoutes } from "./resolve.ts";
import { resourceRoutes } from "./resources.ts";
import { syncRoutes } from "./sync.ts";
import { userRoutes } from "./user.ts";
import { whoamiRoutes } from "./whoami.ts";
import { workspaceRoutes } from "./workspaces.ts";

/** Every route of the API, an area a line. A route that is not here does not exist. */
export const ROUTES = {
  accessRelay: accessRelayRoutes,
  accessRequests: accessRequestRoutes,
  apiKeys: apiKeyRoutes,
  commands: commandRoutes,
  debugRelay: debugRelayRoutes,
  debugSessions: debugSessionRoutes,
  deploymentGroups: deploymentGroupRoutes,
  deploymentPortal: deploymentPortalRoutes,
  deployments: deploymentRoutes,
  events: eventRoutes,
  gateways: gatewayRoutes,
  gitNamespaces: gitNamespaceRoutes,
  invitations: invitationRoutes,
  machineRuntime: machineRuntimeRoutes,
  machines: machineRoutes,
  managers: managerRoutes,
  managerRuntime: managerRuntimeRoutes,
  members: memberRoutes,
  operations: operationRoutes,
  packageBuilder: packageBuilderRoutes,
  packages: packageRoutes,
  projects: projectRoutes,
  releaseChannels: releaseChannelRoutes,
  releases: releaseRoutes,
  resolve: resolveRoutes,
  resources: resourceRoutes,
  sync: syncRoutes,
  user: userRoutes,
  whoami: whoamiRoutes,
  workspaces: workspaceRoutes,
} as const;

export type Routes = typeof ROUTES;
