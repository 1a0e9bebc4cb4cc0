import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Registry } from "prom-client";
import { type Clock, systemRandom as random } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { REPORTING_CONTROLLERS } from "../crds/group.ts";
import { withoutCommands } from "../crds/without-commands.ts";
import { Client } from "../kube/client/client.ts";
import { clusterOf, connect } from "../kube/client/connection.ts";
import type { Environment } from "../kube/client/proxy.ts";
import { LeaderElector } from "../kube/election/leader-election.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { Manager, type Runnable } from "../kube/manager/manager.ts";
import { processServers } from "../kube/manager/servers.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { TrustedAuthorities } from "../kube/serving/trusted-authorities.ts";
import { Cluster } from "./cluster.ts";
import { AgentControllers } from "./controllers.ts";
import { Heartbeat } from "./heartbeat/heartbeat.ts";
import { heartbeatBody } from "./heartbeat/heartbeat-body.ts";
import type { AgentConfig } from "./kernel/config.ts";
import { debugGauges } from "./kernel/debug-metrics.ts";
import { machineGauges } from "./kernel/machine-metrics.ts";
import { agentMetrics, deploymentsGauge } from "./kernel/metrics.ts";
import type { WorkloadRef } from "./observe/observation.ts";
import { observing } from "./observing.ts";
import { connectPlatform } from "./platform-connection.ts";
import { ManagerIdentity } from "./platform-link/manager-identity.ts";
import { ReconnectRule } from "./platform-link/reconnect-rule.ts";
import { WorkFeed } from "./platform-link/work-feed.ts";
import type { ControllerParts } from "./reconcilers.ts";
import type { Render } from "./releases/render/render-stack.ts";
import { renderStack } from "./releases/render/render-stack.ts";
import { watchRights } from "./rights.ts";

export interface AgentTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Reported to the platform. */
  readonly version?: string;
  /** Where HTTP_PROXY, HTTPS_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are read from. Default: none of them. */
  readonly environment?: Environment;
  /** Makes the objects of a release. */
  readonly render?: Render;
}

const NAME = "sallyport-agent";

/**
 * Runs the agent until `signal` aborts, then stops it in order. It opens all connections itself: to the platform and to
 * the API server. The platform being away ends nothing; results wait in the custom resources.
 */
export async function runAgent(config: AgentConfig, tools: AgentTools, signal: AbortSignal): Promise<void> {
  const { clock, log, registry, version = "unknown", environment = {}, render = renderStack } = tools;
  const identity = config.identity || `${hostname()}-${randomBytes(4).toString("hex")}`;
  const connection = await connect({ ...clusterOf(config.kubeconfig), userAgent: NAME }, clock);
  const kube = kubeMetrics(registry);
  const client = new Client(connection, { clock, metrics: kube.client });
  const common = { client, clock, log, metrics: kube };
  const { systemNamespace: namespace, leaseName: name, leaseDurationMs, renewDeadlineMs, retryPeriodMs } = config;
  const lease = { namespace, name, identity, leaseDurationMs, renewDeadlineMs, retryPeriodMs };
  const elector = new LeaderElector({ ...common, ...lease });
  const fence = (): void => elector.fence();
  const cluster = new Cluster({ ...common, namespace: config.grantsNamespace, config, fence });
  const grantStates = () => cluster.grants.store.list().map(({ status }) => status?.state ?? "Pending");
  const metrics = agentMetrics(registry, grantStates, config);
  const userAgent = `${NAME}/${version}`;
  const { platform, link } = connectPlatform(config, { clock, log, metrics, userAgent, environment });
  try {
    const recorder = { ...common, words: withoutCommands };
    const events = new EventRecorder({ ...recorder, controller: REPORTING_CONTROLLERS.agent, instance: identity });
    const rights = watchRights({ client, config, events, registry, clock, log });
    const changed = (ref: WorkloadRef): void => controllers.workloadChanged(ref);
    const observed = observing({
      ...{ client, config, rights, clock, log, watchMetrics: kube.watch, changed },
      clusterChanged: () => controllers.clusterChanged(),
    });
    const shared = {
      platform,
      link,
      cluster,
      events,
      metrics,
      kube,
      fence,
      clock,
      random,
      log,
      config,
      version,
      rights,
      render,
    };
    const controllers = new AgentControllers(shared, observed);
    clusterGauges(tools, shared, controllers);
    link.onRecovered(controllers.recovered);
    link.onTrouble(controllers.conditionsChanged);
    rights.onChange(() => {
      for (const informer of cluster.informers) informer.retryNow();
      observed.retryNow();
      controllers.recovered();
      controllers.conditionsChanged();
    });
    const servers = processServers(config, { client, clock, log, registry });
    const manager = new Manager({ clock, log, ...servers, leaderElection: elector, events });
    for (const informer of cluster.informers) manager.addInformer(informer);
    manager.addRunnable({ name: rights.name, needsLeader: false, run: (each) => rights.run(each) });
    for (const runnable of [...observed.runnables, ...controllers.runnables()]) manager.addRunnable(runnable);
    const { NODE_EXTRA_CA_CERTS: file } = environment;
    const trusted = file ? [new TrustedAuthorities(file, { clock, log })] : [];
    for (const runnable of [...platformRunnables(shared, controllers), ...trusted]) manager.addRunnable(runnable);
    await manager.run(signal);
  } finally {
    await Promise.all([platform.close(), connection.close()]);
  }
}

function clusterGauges(
  { registry, clock }: AgentTools,
  { config, cluster }: ControllerParts,
  { deploymentStates, machinesReported }: AgentControllers,
): void {
  deploymentsGauge(registry, deploymentStates);
  debugGauges(registry, config.debugModes, () => cluster.sessions?.store.list() ?? [], clock);
  machineGauges(registry, machinesReported, clock);
}

/** The work feed listens to the platform; the heartbeat tells it that this agent lives. */
function platformRunnables(
  { platform, metrics, clock, log, config, version }: ControllerParts,
  { changed, relistAll, snapshots }: AgentControllers,
): readonly Runnable[] {
  const rule = (): ReconnectRule => new ReconnectRule(clock, random, config.reconnectSpreadMs);
  const identity = new ManagerIdentity(platform.whoami);
  const common = { platform: platform.managerRuntime, identity, clock, random, log, metrics };
  const { pollIntervalMs, heartbeatIntervalMs: intervalMs } = config;
  const feed = new WorkFeed({ ...common, rule: rule(), pollIntervalMs, changed, relistAll });
  const body = heartbeatBody(config, version, snapshots.deployments);
  const heartbeat = new Heartbeat({ ...common, rule: rule(), intervalMs, body });
  return [
    { name: "work feed", run: (each) => feed.run(each) },
    { name: "heartbeat", run: (each) => heartbeat.run(each) },
  ];
}
