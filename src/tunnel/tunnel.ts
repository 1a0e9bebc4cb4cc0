import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Registry } from "prom-client";
import { type Clock, systemRandom as random } from "../base/clock.ts";
import { withDeadline } from "../base/deadline.ts";
import type { Logger } from "../base/log.ts";
import { type DebugSession, debugSessions } from "../crds/kinds/debug-session.ts";
import { newSessionKey } from "../debug-link/session-key.ts";
import { Informer } from "../kube/cache/informer.ts";
import { Client } from "../kube/client/client.ts";
import { clusterOf, connect } from "../kube/client/connection.ts";
import type { Environment } from "../kube/client/proxy.ts";
import { ServerClock } from "../kube/client/server-clock.ts";
import { Manager } from "../kube/manager/manager.ts";
import { processServers } from "../kube/manager/servers.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { jsonProjection } from "../kube/projection/projection.ts";
import { TrustedAuthorities } from "../kube/serving/trusted-authorities.ts";
import type { TunnelConfig } from "./kernel/config.ts";
import { tunnelMetrics } from "./kernel/metrics.ts";
import { connectPlatform } from "./platform-connection.ts";
import { Sessions } from "./sessions/sessions.ts";
import { Spool } from "./spool/spool.ts";
import { Uploads } from "./spool/uploads.ts";

export interface TunnelTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Reported to the platform. */
  readonly version?: string;
  /** Where HTTP_PROXY, HTTPS_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are read from. Default: none of them. */
  readonly environment?: Environment;
  /** Gets each line of an audit file once it is on the disk. */
  readonly emit?: (line: string) => void;
}

const NAME = "sallyport-tunnel";
/** For the files of sessions that a stop has ended, within a pod's usual 30 s. */
const FLUSH_MS = 10_000;

/**
 * Runs the tunnel until `signal` aborts, then stops it in order. It opens all connections itself: to the platform and
 * to the API server.
 */
export async function runTunnel(config: TunnelConfig, tools: TunnelTools, signal: AbortSignal): Promise<void> {
  const { clock, log, registry, version = "unknown", environment = {}, emit = () => undefined } = tools;
  const metrics = tunnelMetrics(registry);
  const { spoolFolder: folder, spoolBytes: limitBytes, grantsNamespace: namespace } = config;
  const spool = new Spool({ folder, limitBytes, metrics });
  const connection = await connect({ ...clusterOf(config.kubeconfig), userAgent: NAME }, clock);
  const kube = kubeMetrics(registry);
  // When a session ends was written by the API server's time.
  const serverClock = new ServerClock(clock);
  const client = new Client(connection, { clock, metrics: kube.client, serverClock });
  const userAgent = `${NAME}/${version}`;
  const link = connectPlatform(config, { clock, log, metrics, userAgent, environment });
  const { platform, proxyAgent, storage } = link;
  try {
    const informer = new Informer<DebugSession>({
      ...{ client, namespace, clock, log, metrics: kube.watch },
      ...{ resource: debugSessions, projection: jsonProjection<DebugSession>() },
    });
    const common = { spool, clock, log, metrics };
    const uploads = new Uploads({
      ...common,
      ...{ sessions: platform.debugSessions, dispatcher: storage, isOn: config.upload },
      hosts: new Set([new URL(config.platformUrl).host, ...config.uploadHosts]),
    });
    const identity = config.identity || `${hostname()}-${randomBytes(4).toString("hex")}`;
    const sessions = new Sessions(
      {
        ...{ ...common, config, client, connection, platform, proxyAgent, identity, version, uploads, random, emit },
        clock: serverClock,
        ...{ key: newSessionKey(NAME, clock.wallNow()), heardMs: () => informer.currentAtMs },
      },
      informer,
    );
    const manager = new Manager({ clock, log, ...processServers(config, { client, clock, log, registry }) });
    manager.addInformer(informer);
    manager.addRunnable({ name: "uploads", needsLeader: false, run: (each) => uploads.run(each) });
    manager.addRunnable(sessions);
    const { NODE_EXTRA_CA_CERTS: file } = environment;
    if (file) manager.addRunnable(new TrustedAuthorities(file, { clock, log }));
    await manager.run(signal);
    const never = new AbortController().signal;
    await withDeadline(clock, FLUSH_MS, never, (each) => uploads.flush(each)).catch(() => undefined);
  } finally {
    await Promise.all([link.close(), connection.close()]);
  }
}
