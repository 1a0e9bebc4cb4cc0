import { AUTH_ROUTES } from "../../contract/openapi/auth-paths.ts";
import { PORTAL_ROUTES } from "../areas/deployment-portal/portal-page/portal-routes.ts";
import { INVITE_ROUTES } from "../areas/invitations/page.ts";
import { SETUP_ROUTES } from "../areas/managers/setup/setup-routes.ts";
import { CHART_ROUTES } from "../builders/helm/chart-link.ts";
import { OBJECT_ROUTES } from "../objects/object-routes.ts";

/**
 * Routes outside of the contract: sign-in, objects, charts, setup files, and pages that people open. Metrics count them
 * by template like the contract's routes.
 */
export const NON_API_ROUTES = [
  ...AUTH_ROUTES,
  ...OBJECT_ROUTES,
  ...CHART_ROUTES,
  ...SETUP_ROUTES,
  ...PORTAL_ROUTES,
  ...INVITE_ROUTES,
].map(({ method, path }) => ({
  route: { method, path },
}));
