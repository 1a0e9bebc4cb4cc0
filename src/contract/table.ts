import { accessRelayRoutes } from "./access-relay.ts";
import { accessRequestRoutes } from "./access-requests.ts";
import { apiKeyRoutes } from "./api-keys.ts";
import { eventRoutes } from "./events.ts";
import { operationRoutes } from "./operations.ts";
import { whoamiRoutes } from "./whoami.ts";

/** Every route of the API, an area a line. A route that is not here does not exist. */
export const ROUTES = {
  accessRelay: accessRelayRoutes,
  accessRequests: accessRequestRoutes,
  apiKeys: apiKeyRoutes,
  events: eventRoutes,
  operations: operationRoutes,
  whoami: whoamiRoutes,
} as const;

export type Routes = typeof ROUTES;
