import type { Clock, Random } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { RequiredRight } from "../crds/manifests/roles/required-rights.ts";
import type { AccessWatch } from "../kube/access/access-watch.ts";
import type { EventRecorder } from "../kube/events/event-recorder.ts";
import type { KubeMetrics } from "../kube/metrics/metrics.ts";
import { AccessRequests } from "./access-requests/access-requests.ts";
import type { Cluster } from "./cluster.ts";
import { Commands } from "./commands/commands.ts";
import { DebugSessions } from "./debug-sessions/debug-sessions.ts";
import { isUnanswered } from "./deployments/deployment.ts";
import { Deployments } from "./deployments/deployments.ts";
import { Leases } from "./deployments/leases.ts";
import { Capacity } from "./kernel/capacity.ts";
import type { AgentConfig } from "./kernel/config.ts";
import type { AgentMetrics } from "./kernel/metrics.ts";
import type { Snapshots } from "./lister.ts";
import { poolOf } from "./machines/members.ts";
import type { Names } from "./names/names.ts";
import type { ClusterNodes } from "./nodes/cluster-nodes.ts";
import type { Lookups } from "./observe/observation.ts";
import { ResourceReports } from "./observe/resource-reports.ts";
import { nameOf } from "./observe/summary.ts";
import type { Workloads } from "./observe/workloads.ts";
import type { PlatformLink } from "./platform-link/platform-link.ts";
import type { Platform } from "./platform-link/routes.ts";
import type { ReleaseCluster } from "./releases/release-cluster.ts";
import type { ReleaseSecrets } from "./releases/release-secrets.ts";
import { Releases } from "./releases/releases.ts";
import type { Render } from "./releases/render/render-stack.ts";

/** What the parts of the agent share. */
export interface ControllerParts {
  readonly platform: Platform;
  readonly link: PlatformLink;
  readonly cluster: Cluster;
  readonly events: Pick<EventRecorder, "record">;
  readonly metrics: AgentMetrics;
  readonly kube: KubeMetrics;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly config: AgentConfig;
  readonly version: string;
  readonly rights: Pick<AccessWatch<RequiredRight>, "missing">;
  readonly render: Render;
}

export interface ReconcilerParts extends ControllerParts {
  readonly workloads: Pick<Workloads, "kinds" | "state" | "names" | "workload" | "relatedTo">;
  readonly lookups: Lookups;
  readonly nodes: Pick<ClusterNodes, "isStarting" | "isCurrent" | "heartbeat">;
  readonly names: Names;
  readonly snapshots: Snapshots;
  /** The customer accepts this deployment, somewhere. */
  readonly accepts: (deploymentId: string) => boolean;
  /** Reads the platform's lists again. */
  readonly relist: () => void;
  /** Reconciles a command. */
  readonly trigger: (commandId: string) => void;
}

export interface AgentReconcilers {
  readonly leases: Leases;
  readonly deployments: Deployments;
  readonly requests: AccessRequests;
  readonly commands: Commands;
  readonly sessions: DebugSessions;
}

/** The agent's reconcilers, wired to the platform's routes and to the cluster's caches and writes. */
export function agentReconcilers(parts: ReconcilerParts): AgentReconcilers {
  const { platform, clock, metrics } = parts;
  const leases = new Leases({ platform: platform.sync, clock, changed: (held) => metrics.leasesHeld(held) });
  const commands = commandsOf(parts);
  return {
    leases,
    deployments: deploymentsOf(parts, leases),
    requests: requestsOf(parts, commands),
    commands,
    sessions: sessionsOf(parts),
  };
}

function deploymentsOf(parts: ReconcilerParts, leases: Leases): Deployments {
  const { platform, cluster, events, clock, config, rights, link, workloads, snapshots, accepts, relist } = parts;
  const { random, metrics, lookups, nodes, names } = parts;
  const reports = new ResourceReports({ workloads, lookups, nodes, names, clock, random, metrics });
  const releases = cluster.releases && releasesOf(parts, cluster.releases, cluster.releaseSecrets, reports);
  return new Deployments({
    ...parts,
    snapshot: snapshots.deployments,
    leases,
    releases,
    places: { named: config.deployments, opened: config.namespaces, grantsNamespace: config.grantsNamespace },
    maxWaiting: config.maxWaitingDeployments,
    reportIntervalMs: config.reportIntervalMs,
    statusIntervalMs: config.statusIntervalMs,
    ports: {
      platform: platform.sync,
      managed: (id) => cluster.managedOf(id),
      holder: (id) => cluster.managedUnderNameOf(id),
      unanswered: () =>
        cluster.managed.store
          .list()
          .filter((managed) => isUnanswered(managed) && !accepts(managed.spec.deploymentId))
          .map(({ spec }) => spec.deploymentId),
      create: (spec, signal) => cluster.createManaged(spec, signal),
      remove: (managed, signal) => cluster.deleteManaged(managed, signal),
      events,
      applyStatus: (managed, status, signal) => cluster.applyManagedStatus(managed, status, signal),
      resources: reports,
      workloads: (id) => reports.summary(id),
      installed: (id) => releases?.installed(id),
      relist,
      missing: () => rights.missing,
      offered: (id) => ({
        debugModes: config.debugModes,
        releases: config.releases,
        machinePool: cluster.machines && poolOf(id, cluster.machines.pools.store.list()) !== undefined,
      }),
      trouble: () => link.trouble ?? (link.isConnected ? undefined : "unknown"),
    },
  });
}

/**
 * Of one deployment, and in all. Open rollouts: those that a newer one replaces end at once. The others end with the
 * operator's retention; until then a wish waits.
 */
const MAX_RELEASES = {
  contents: { ofDeployment: 12, inAll: 150, word: "kept" },
  rollouts: { ofDeployment: 40, inAll: 600, word: "kept" },
  openRollouts: { ofDeployment: 4, inAll: 200, word: "open" },
} as const;

function releasesOf(
  { clock, config, render }: ReconcilerParts,
  cluster: ReleaseCluster,
  secrets: ReleaseSecrets | undefined,
  reports: Pick<ResourceReports, "members">,
): Releases {
  const contents = new Capacity({ clock, open: cluster.keptContents, max: MAX_RELEASES.contents });
  const kept = new Capacity({ clock, open: cluster.keptRollouts, max: MAX_RELEASES.rollouts });
  const open = new Capacity({ clock, open: cluster.openRollouts, max: MAX_RELEASES.openRollouts });
  cluster.contents.onChange(contents.shown);
  for (const each of [kept, open]) cluster.rollouts.onChange(each.shown);
  const { grantsNamespace, redactNames } = config;
  const room = { contents, rollouts: [kept, open] };
  const members = (id: string) =>
    reports.members(id).map(({ member, health, ...ref }) => ({
      ...member,
      name: nameOf(ref),
      isUnhealthy: health === "unhealthy",
    }));
  const tellsWords = redactNames === "off";
  return new Releases({ cluster, room, render, members, secrets, grantsNamespace, tellsWords, clock });
}

function requestsOf(parts: ReconcilerParts, commands: Commands): AccessRequests {
  const { platform, cluster, events, clock, fence, config, snapshots, accepts } = parts;
  const capacity = new Capacity({ clock, open: cluster.openGrants });
  cluster.grants.onChange(capacity.shown);
  return new AccessRequests({
    ...parts,
    snapshot: snapshots.requests,
    grantsNamespace: config.grantsNamespace,
    ports: {
      accepts,
      platform: { ...platform.accessRelay, approvals: fenced(fence, platform.accessRelay.approvals) },
      claimed: commands.claimed,
      grant: (id) => cluster.grantOf(id),
      capacity,
      createGrant: (grant, signal) => cluster.createGrant(grant, signal),
      events,
    },
  });
}

function commandsOf(parts: ReconcilerParts): Commands {
  const { platform, cluster, clock, fence, config, snapshots, accepts } = parts;
  const { dispatch, complete } = platform.commands;
  const capacity = new Capacity({ clock, open: cluster.openInvocations });
  cluster.invocations.onChange(capacity.shown);
  return new Commands({
    ...parts,
    snapshot: snapshots.commands,
    grantsNamespace: config.grantsNamespace,
    ports: {
      accepts,
      platform: { ...platform.commands, dispatch: fenced(fence, dispatch), complete: fenced(fence, complete) },
      cached: (name) => cluster.invocationNamed(name),
      read: (name, signal) => cluster.readInvocation(name, signal),
      capacity,
      create: (invocation, signal) => cluster.createInvocation(invocation, signal),
    },
  });
}

function sessionsOf({ platform, cluster, clock, metrics, config, snapshots, accepts }: ReconcilerParts): DebugSessions {
  const capacity = new Capacity({ clock, open: cluster.openSessions });
  cluster.sessions?.onChange(capacity.shown);
  return new DebugSessions({
    ...{ clock, metrics },
    snapshot: snapshots.sessions,
    enabled: config.debugModes.length > 0,
    grantsNamespace: config.grantsNamespace,
    ports: {
      accepts,
      platform: platform.debugSessions,
      session: (id) => cluster.sessionNamedFor(id),
      capacity,
      create: (session, signal) => cluster.createSession(session, signal),
    },
  });
}

/** A call that claims a command: refused when another agent may lead by now. */
function fenced<Args, Answer>(
  fence: () => void,
  call: (args: Args, signal: AbortSignal) => Promise<Answer>,
): typeof call {
  return async (args, signal) => {
    fence();
    return await call(args, signal);
  };
}
