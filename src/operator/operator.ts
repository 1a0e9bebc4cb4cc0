import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Registry } from "prom-client";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { REPORTING_CONTROLLERS } from "../crds/group.ts";
import { DEBUG_VALIDATING_POLICIES } from "../crds/manifests/admission/debug-admission.ts";
import { releasePolicyNames } from "../crds/manifests/admission/release-admission.ts";
import { withoutCommands } from "../crds/without-commands.ts";
import { Client } from "../kube/client/client.ts";
import { clusterOf, connect } from "../kube/client/connection.ts";
import { ServerClock } from "../kube/client/server-clock.ts";
import { LeaderElector } from "../kube/election/leader-election.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { Manager } from "../kube/manager/manager.ts";
import { processServers } from "../kube/manager/servers.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { Rights } from "./access/rights.ts";
import { AdmissionWatch } from "./admission/admission-watch.ts";
import { Caches } from "./caches.ts";
import { operatorControllers } from "./controllers.ts";
import { pluginCatalogue } from "./custom-operations/plugin-catalogue.ts";
import type { OperatorConfig } from "./kernel/config.ts";
import { debugMetrics } from "./kernel/debug-metrics.ts";
import { EventPublisher } from "./kernel/event-publisher.ts";
import { operatorMetrics } from "./kernel/metrics.ts";
import { rolloutMetrics } from "./kernel/rollout-metrics.ts";
import type { RolloutHands } from "./rollouts/hands/hands.ts";

export interface OperatorTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Absent in tests. */
  readonly version?: string;
  /** For tests: in place of what works on the customer's objects. */
  readonly rolloutHands?: RolloutHands;
}

/** As what it shows in the API server's audit log and in managed fields. */
const NAME = "sallyport-operator";

/**
 * Runs the operator until `signal` aborts, then stops it in order: what runs gets to its end, results are stored, and
 * only then is the lease given back. It talks to the API server alone.
 */
export async function runOperator(config: OperatorConfig, tools: OperatorTools, signal: AbortSignal): Promise<void> {
  const { clock, log, registry, version = "0.0.0" } = tools;
  const { kubeconfig, grantsNamespace, systemNamespace, deployments: named } = config;
  const identity = config.identity || `${hostname()}-${randomBytes(4).toString("hex")}`;
  const connection = await connect({ ...clusterOf(kubeconfig), userAgent: NAME }, clock);
  try {
    const kube = kubeMetrics(registry);
    // The API server stamps when a session was asked for.
    const serverClock = new ServerClock(clock);
    const client = new Client(connection, { clock, metrics: kube.client, serverClock });
    const { leaseName: name, leaseDurationMs, renewDeadlineMs, retryPeriodMs, admissionMode: mode } = config;
    const lease = { namespace: systemNamespace, name, identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs };
    const elector = new LeaderElector({ ...lease, client, clock, log, metrics: kube });
    const recorder = { client, clock, log, metrics: kube, words: withoutCommands };
    const events = new EventRecorder({ ...recorder, controller: REPORTING_CONTROLLERS.operator, instance: identity });
    const { debugEnabled: debug, machinesEnabled: machines, releasesEnabled: releases } = config;
    const caching = { client, namespace: grantsNamespace, named, clock, log, metrics: kube };
    const caches = new Caches({ ...caching, debug, machines, releases });
    const now = (): Date => clock.wallNow();
    const plugins = await pluginCatalogue(config.plugins, config.pluginFolder, { clock, log });
    const metrics = operatorMetrics(registry, {
      grants: () => caches.grants.store.values(),
      isLeader: () => elector.isLeader,
      now,
      plugins: { isEnabled: plugins.isEnabled, problems: plugins.problems.length },
    });
    const ofReleases = releases ? releasePolicyNames(config.releasesSecrets) : [];
    const others = [...(debug ? DEBUG_VALIDATING_POLICIES : []), ...ofReleases];
    const looking = { client, clock, log, metrics, mode, others };
    const admitting = { everyMs: config.admissionCheckIntervalMs, settleMs: config.admissionSettleMs };
    const admission = new AdmissionWatch({ ...looking, ...admitting });
    const served = () => caches.servedNamespaces();
    const rights = new Rights({ client, config, commands: plugins.commands, served, events, registry, clock, log });
    rights.watch.onChange(() => {
      for (const informer of caches.informers) informer.retryNow();
    });
    const servers = processServers(config, { client, clock, log, registry });
    const manager = new Manager({ clock, log, ...servers, leaderElection: elector, events });
    for (const informer of caches.informers) manager.addInformer(informer);
    manager.addRunnable({ name: admission.name, needsLeader: false, run: (each) => admission.run(each) });
    for (const watch of rights.watches) {
      manager.addRunnable({ name: watch.name, needsLeader: false, run: (each) => watch.run(each) });
    }
    const shared = {
      ...{ client, caches, admission, rights, metrics, clock, serverClock, log, kube, config, version },
      fence: () => elector.fence(),
      publisher: new EventPublisher(events),
      debugMetrics: debugMetrics(registry),
      rolloutMetrics: rolloutMetrics(registry, () => caches.rollouts?.store.values() ?? []),
      rolloutHands: tools.rolloutHands,
      plugins,
    };
    for (const runnable of operatorControllers(shared)) manager.addRunnable(runnable);
    await manager.run(signal);
  } finally {
    await connection.close();
  }
}
