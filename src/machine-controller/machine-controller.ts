import { hostname } from "node:os";
import type { Registry } from "prom-client";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { REPORTING_CONTROLLERS } from "../crds/group.ts";
import { withoutCommands } from "../crds/without-commands.ts";
import { Client } from "../kube/client/client.ts";
import { clusterOf, connect } from "../kube/client/connection.ts";
import { ServerClock } from "../kube/client/server-clock.ts";
import { LeaderElector } from "../kube/election/leader-election.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { Manager } from "../kube/manager/manager.ts";
import { processServers } from "../kube/manager/servers.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { DrainCaches } from "./drains/drain-caches.ts";
import { drainControllers } from "./drains/drain-controllers.ts";
import { DrainPublisher } from "./drains/drain-publisher.ts";
import { JoinCaches } from "./joins/join-caches.ts";
import { joinControllers } from "./joins/join-controllers.ts";
import { JoinPublisher } from "./joins/join-publisher.ts";
import type { MachinesConfig } from "./kernel/config.ts";
import { drainMetrics } from "./kernel/drain-metrics.ts";
import { joinMetrics } from "./kernel/join-metrics.ts";
import { PolicyWatch } from "./kernel/policy-watch.ts";
import { LoadPublisher } from "./loads/load-publisher.ts";

export interface MachineControllerTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** As what it shows in the API server's audit log and in managed fields. */
const NAME = "sallyport-machines";

/**
 * Runs the machine controller until `signal` aborts, then stops it in order and gives the lease back. It talks to the
 * API server alone.
 */
export async function runMachineController(
  config: MachinesConfig,
  tools: MachineControllerTools,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, registry } = tools;
  const { kubeconfig, grantsNamespace, systemNamespace } = config;
  const identity = config.identity || hostname();
  const connection = await connect({ ...clusterOf(kubeconfig), userAgent: NAME }, clock);
  try {
    const kube = kubeMetrics(registry);
    // The API server stamps when a pod should have ended, and since when a node is silent.
    const serverClock = new ServerClock(clock);
    const client = new Client(connection, { clock, metrics: kube.client, serverClock });
    const { leaseName: name, leaseDurationMs, renewDeadlineMs, retryPeriodMs } = config;
    const lease = { namespace: systemNamespace, name, identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs };
    const elector = new LeaderElector({ ...lease, client, clock, log, metrics: kube });
    const recorder = { client, clock, log, metrics: kube, words: withoutCommands };
    const events = new EventRecorder({ ...recorder, controller: REPORTING_CONTROLLERS.machines, instance: identity });
    const caches = new DrainCaches({ client, namespace: grantsNamespace, clock, log, metrics: kube });
    const metrics = drainMetrics(registry, () => caches.drains.store.values());
    const publisher = new DrainPublisher({ recorder: events, metrics, clock: serverClock });
    const servers = processServers(config, { client, clock, log, registry });
    const manager = new Manager({ clock, log, ...servers, leaderElection: elector, events });
    for (const informer of caches.informers) manager.addInformer(informer);
    const fence = (): void => elector.fence();
    const policies = new PolicyWatch({ client, clock, log, everyMs: config.policyCheckIntervalMs });
    manager.addRunnable({ name: policies.name, needsLeader: false, run: (each) => policies.run(each) });
    const parts = { client, caches, policies, publisher, kube, fence, identity, clock, serverClock, log, config };
    for (const controller of drainControllers(parts)) manager.addController(controller);
    if (config.joinEnabled) {
      const joinCaches = new JoinCaches({ client, clock, log, metrics: kube }, caches);
      manager.addInformer(joinCaches.requests);
      const joins = joinMetrics(
        registry,
        () => caches.joins.store.values(),
        () => caches.pools.store.values(),
      );
      const joinPublisher = new JoinPublisher({ recorder: events, metrics: joins });
      const shared = { client, apiServer: connection.server, kube, policies, fence, clock, serverClock, log };
      const joinParts = { ...shared, caches: joinCaches, publisher: joinPublisher };
      for (const controller of joinControllers(joinParts)) manager.addController(controller);
    }
    const loads = new LoadPublisher({ client, pods: caches.pods, namespace: grantsNamespace, fence, clock, log });
    manager.addRunnable({ name: loads.name, needsLeader: true, run: (each) => loads.run(each) });
    await manager.run(signal);
  } finally {
    await connection.close();
  }
}
