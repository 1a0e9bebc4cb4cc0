import { accessRelayRoutes } from "./access-requests/access-relay.ts";
import { accessRequestRoutes } from "./access-requests/access-requests.ts";
import { apiKeyRoutes } from "./api-keys/api-keys.ts";
import { debugRelayRoutes } from "./debug-sessions/debug-relay.ts";
import { debugSessionRoutes } from "./debug-sessions/debug-sessions.ts";
import { deploymentGroupRoutes } from "./deployment-groups/deployment-groups.ts";
import { deploymentPortalRoutes } from "./deployment-portal/deployment-portal.ts";
import { deploymentRoutes } from "./deployments/deployments.ts";
import { syncRoutes } from "./deployments/sync.ts";
import { eventRoutes } from "./events/events.ts";
import { gatewayRoutes } from "./gateways/gateways.ts";
import { machineRoutes, machineRuntimeRoutes } from "./machines/machines.ts";
import { managerRuntimeRoutes } from "./managers/manager-runtime.ts";
import { managerRoutes } from "./managers/managers.ts";
import { resolveRoutes } from "./managers/resolve.ts";
import { commandRoutes } from "./operations/commands.ts";
import { operationRoutes } from "./operations/operations.ts";
import { packageBuilderRoutes } from "./packages/package-builder.ts";
import { packageRoutes } from "./packages/packages.ts";
import { gitNamespaceRoutes } from "./projects/git-namespaces.ts";
import { projectRoutes } from "./projects/projects.ts";
import { releaseChannelRoutes } from "./releases/release-channels.ts";
import { releaseRoutes } from "./releases/releases.ts";
import { resourceRoutes } from "./resources/resources.ts";
import { invitationRoutes } from "./workspaces/invitations.ts";
import { memberRoutes } from "./workspaces/members.ts";
import { userRoutes } from "./workspaces/user.ts";
import { whoamiRoutes } from "./workspaces/whoami.ts";
import { workspaceRoutes } from "./workspaces/workspaces.ts";

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
