import type { Routes } from "../../contract/table.ts";
import type { Handlers } from "../kernel/call/call.ts";
import { relayHandlers as accessRelay, handlers as accessRequests } from "./access-requests/routes.ts";
import { handlers as apiKeys } from "./api-keys/routes.ts";
import { handlers as commands } from "./commands/routes.ts";
import { relayHandlers as debugRelay } from "./debug-sessions/relay-routes.ts";
import { handlers as debugSessions } from "./debug-sessions/routes.ts";
import { handlers as deploymentGroups } from "./deployment-groups/routes.ts";
import { handlers as deploymentPortal } from "./deployment-portal/routes.ts";
import { handlers as deployments } from "./deployments/routes.ts";
import { handlers as events } from "./events/routes.ts";
import { handlers as gateways } from "./gateways/routes.ts";
import { handlers as gitNamespaces } from "./git-namespaces/routes.ts";
import { handlers as invitations } from "./invitations/routes.ts";
import { runtimeHandlers as machineRuntime, handlers as machines } from "./machines/routes.ts";
import { handlers as managers } from "./managers/routes.ts";
import { handlers as managerRuntime } from "./managers/runtime-routes.ts";
import { handlers as members } from "./members/routes.ts";
import { handlers as operations } from "./operations/routes.ts";
import { builderHandlers as packageBuilder, handlers as packages } from "./packages/routes.ts";
import { handlers as projects } from "./projects/routes.ts";
import { channelHandlers as releaseChannels, handlers as releases } from "./releases/routes.ts";
import { handlers as resolve } from "./resolve/routes.ts";
import { handlers as resources } from "./resources/routes.ts";
import { handlers as sync } from "./sync/routes.ts";
import { handlers as user } from "./user/routes.ts";
import { handlers as whoami } from "./whoami/routes.ts";
import { handlers as workspaces } from "./workspaces/routes.ts";

type AllHandlers = { readonly [Area in keyof Routes]: Handlers<Routes[Area]> };

/** The handlers of all routes, by area. A route without a handler does not compile. */
export const HANDLERS = {
  accessRelay,
  accessRequests,
  apiKeys,
  commands,
  debugRelay,
  debugSessions,
  deploymentGroups,
  deploymentPortal,
  deployments,
  events,
  gateways,
  gitNamespaces,
  invitations,
  machineRuntime,
  machines,
  managers,
  managerRuntime,
  members,
  operations,
  packageBuilder,
  packages,
  projects,
  releaseChannels,
  releases,
  resolve,
  resources,
  sync,
  user,
  whoami,
  workspaces,
} satisfies AllHandlers;
