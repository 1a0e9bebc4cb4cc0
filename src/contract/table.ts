import { apiKeyRoutes } from "./api-keys.ts";
import { eventRoutes } from "./events.ts";
import { whoamiRoutes } from "./whoami.ts";

/** Every route of the API, an area a line. A route that is not here does not exist. */
export const ROUTES = {
  apiKeys: apiKeyRoutes,
  events: eventRoutes,
  whoami: whoamiRoutes,
} as const;

export type Routes = typeof ROUTES;
