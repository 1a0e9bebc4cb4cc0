import { sweepIdentity } from "../identity/sweep.ts";
import { forgetOld } from "../kernel/call/idempotency.ts";
import type { Sweep } from "../kernel/sweeps/sweep.ts";
import { sweepLapsed } from "./access-requests/lifecycle.ts";
import { sweepApiKeys } from "./api-keys/sweep.ts";
import { sweepCommands } from "./commands/sweep.ts";
import { sweepDebugSessions } from "./debug-sessions/sweep.ts";
import { sweepDeployments } from "./deployments/lifecycle/sweep.ts";
import { sweepEvents } from "./events/sweep.ts";
import { sweepInvitations } from "./invitations/sweep.ts";
import { sweepManagers } from "./managers/service.ts";
import { sweepPackages } from "./packages/build.ts";
import { sweepTallies } from "./releases/tallies.ts";
import { sweepReports } from "./sync/sweep.ts";
import { sweepWorkspaces } from "./workspaces/sweep.ts";

/** The sweeps of areas, identity and kernel, by their name in logs and metrics. Each runs once a minute. */
export const SWEEPS: Readonly<Record<string, Sweep>> = {
  idempotency: forgetOld,
  "access-requests": sweepLapsed,
  "api-keys": sweepApiKeys,
  commands: sweepCommands,
  "debug-sessions": sweepDebugSessions,
  deployments: sweepDeployments,
  events: sweepEvents,
  invitations: sweepInvitations,
  identity: sweepIdentity,
  managers: sweepManagers,
  packages: sweepPackages,
  releases: sweepTallies,
  sync: sweepReports,
  workspaces: sweepWorkspaces,
};

/** The names of all sweeps. The metrics are created before the object store and the kind of database are known. */
export const SWEEP_NAMES: readonly string[] = [...Object.keys(SWEEPS), "objects", "tables"];
