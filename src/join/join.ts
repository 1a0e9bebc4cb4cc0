import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Registry } from "prom-client";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { type MachineDrain, machineDrains } from "../crds/kinds/machine-drain.ts";
import { type MachineJoin, machineJoins } from "../crds/kinds/machine-join.ts";
import { type MachinePool, machinePools } from "../crds/kinds/machine-pool.ts";
import { Informer, type InformerOptions } from "../kube/cache/informer.ts";
import { Client } from "../kube/client/client.ts";
import { clusterOf, connect } from "../kube/client/connection.ts";
import type { Environment } from "../kube/client/proxy.ts";
import { ServerClock } from "../kube/client/server-clock.ts";
import { Manager, type Runnable } from "../kube/manager/manager.ts";
import { processServers } from "../kube/manager/servers.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { jsonProjection } from "../kube/projection/projection.ts";
import { type KeyPair, ServedCertificate } from "../kube/serving/served-certificate.ts";
import { TrustedAuthorities } from "../kube/serving/trusted-authorities.ts";
import { Announcements } from "./joins/announcements.ts";
import { answerOf } from "./joins/answer.ts";
import { Joins, type JoinsOptions } from "./joins/joins.ts";
import { Leaves } from "./joins/leaves.ts";
import { checkPair, curlPin, ownKey } from "./joins/own-key.ts";
import type { JoinConfig } from "./kernel/config.ts";
import { joinMetrics } from "./kernel/metrics.ts";
import { connectPlatform } from "./platform-connection.ts";
import { JoinServer } from "./serving/join-server.ts";
import { joinRoutes, type RoutesOptions } from "./serving/routes.ts";
import { Waiting } from "./serving/waiting.ts";

export interface JoinTools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly version?: string;
  /** Where HTTP_PROXY, HTTPS_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are read from. Default: none of them. */
  readonly environment?: Environment;
}

const NAME = "sallyport-join";
/** For answers under way, within a pod's usual 30 s. */
const CLOSE_MS = 5_000;
const BY_UID = "uid";
const BY_NODE = "node";

/**
 * Runs the join server until `signal` aborts, then stops it in order. It opens all connections itself: to the platform
 * and to the API server.
 */
export async function runJoin(config: JoinConfig, tools: JoinTools, signal: AbortSignal): Promise<void> {
  const { clock, log, registry, version = "unknown", environment = {} } = tools;
  const metrics = joinMetrics(registry);
  const connection = await connect({ ...clusterOf(config.kubeconfig), userAgent: NAME }, clock);
  const kube = kubeMetrics(registry);
  const serverClock = new ServerClock(clock);
  const client = new Client(connection, { clock, metrics: kube.client, serverClock });
  const userAgent = `${NAME}/${version}`;
  const platform = connectPlatform(config, { clock, log, metrics, userAgent, environment });
  try {
    const { pools, joins, drains } = cachesOf({
      client,
      namespace: config.grantsNamespace,
      clock,
      log,
      metrics: kube.watch,
    });
    const certificate = new ServedCertificate(config.tlsFolder, { clock, log });
    const key = await firstKey(config, { client, certificate, now: clock.wallNow(), log }, signal);
    let pins = [curlPin(key)];
    const shared = { platform, client, clock: serverClock, log, metrics, pools: () => pools.store.values() };
    const { url, caFile } = config;
    const announcements = new Announcements({ ...shared, url, caFile, pins: () => pins });
    await announcements.readCluster(signal);
    pools.onChange((change) => change.type === "added" && !change.initial && announcements.wake());
    const waiting = new Waiting(clock, (polls) => metrics.waiting(polls));
    joins.onChange(({ object }) => waiting.wake(object.metadata.uid));
    const told = { waiting, version, metrics, scripts: await scripts() };
    const answer = routesOf(config, { pools, joins, drains }, announcements, shared, told);
    const { host, port } = config;
    const ca = config.mayLeave ? announcements.ca : undefined;
    const server = new JoinServer({ host, port, pair: key, ca, clock, log, metrics, answer });
    announcements.onCa = (ca) => server.trust(ca);
    const manager = new Manager({ clock, log, ...processServers(config, { client, clock, log, registry }) });
    manager.addInformer(pools).addInformer(joins).addInformer(drains);
    manager.addRunnable({ name: "announcements", needsLeader: false, run: (each) => announcements.run(each) });
    manager.addRunnable(
      listening(server, waiting, () => log.info({ url: config.url, pin: pins[0] }, "machines may ask")),
    );
    if (config.tlsFolder !== "") {
      const serve = (pair: KeyPair): void => {
        checkPair(pair);
        server.serve(pair);
        // Join strings with the pin before are in people's hands still.
        pins = [...new Set([curlPin(pair), ...pins])].slice(0, 4);
      };
      manager.addRunnable({ name: "certificate", needsLeader: false, run: (each) => certificate.run(serve, each) });
    }
    const { NODE_EXTRA_CA_CERTS: file } = environment;
    if (file) manager.addRunnable(new TrustedAuthorities(file, { clock, log }));
    await manager.run(signal);
  } finally {
    await Promise.all([platform.close(), connection.close()]);
  }
}

function cachesOf(watched: Pick<InformerOptions<MachinePool>, "client" | "namespace" | "clock" | "log" | "metrics">) {
  const pools = new Informer<MachinePool>({
    ...watched,
    resource: machinePools,
    projection: jsonProjection<MachinePool>(),
  });
  const joins = new Informer<MachineJoin>({
    ...watched,
    resource: machineJoins,
    projection: jsonProjection<MachineJoin>(),
    indexes: { [BY_UID]: ({ metadata }) => [metadata.uid] },
  });
  const drains = new Informer<MachineDrain>({
    ...watched,
    resource: machineDrains,
    projection: jsonProjection<MachineDrain>(),
    indexes: { [BY_NODE]: ({ spec }) => [spec.nodeName] },
  });
  return { pools, joins, drains };
}

function routesOf(
  config: JoinConfig,
  { pools, joins, drains }: ReturnType<typeof cachesOf>,
  announcements: Announcements,
  shared: Omit<JoinsOptions, "joins" | "namespace" | "apiServer">,
  told: Pick<RoutesOptions, "waiting" | "version" | "metrics" | "scripts">,
) {
  const { grantsNamespace: namespace, apiServer } = config;
  const known = { ...shared, namespace, joins: () => joins.store.values() };
  return joinRoutes({
    ...told,
    clock: shared.clock,
    joins: new Joins({ ...known, apiServer }),
    leaves: config.mayLeave
      ? new Leaves({ ...known, drainsOf: (nodeName) => drains.store.byIndex(BY_NODE, nodeName) })
      : undefined,
    joinOf: (uid) => joins.store.byIndex(BY_UID, uid)[0],
    answer(join) {
      const { ca, serverVersion } = announcements;
      return answerOf(join, pools.store.get(`${namespace}/${join.spec.pool}`), { ...config, ca, serverVersion });
    },
    serverVersion: () => announcements.serverVersion,
  });
}

/** The clients of the join server: what machines run. */
async function scripts(): Promise<RoutesOptions["scripts"]> {
  // Written out: the image takes the files that it finds named so.
  const [script, leave] = await Promise.all([
    readFile(fileURLToPath(import.meta.resolve("../../deploy/join/script.sh")), "utf8"),
    readFile(fileURLToPath(import.meta.resolve("../../deploy/join/leave.sh")), "utf8"),
  ]);
  return { script, "leave-script": leave };
}

async function firstKey(
  { tlsFolder, systemNamespace }: JoinConfig,
  tools: {
    readonly client: Client;
    readonly certificate: ServedCertificate;
    readonly now: Date;
    readonly log: Logger;
  },
  signal: AbortSignal,
): Promise<KeyPair> {
  const { client, certificate, now, log } = tools;
  if (tlsFolder === "") return ownKey(client, systemNamespace, { now, log }, signal);
  const found: KeyPair[] = [];
  await certificate.look((pair) => {
    checkPair(pair);
    found.push(pair);
  });
  const [pair] = found;
  if (pair === undefined) throw new Error(`no certificate in ${tlsFolder}`);
  return pair;
}

function listening(server: JoinServer, waiting: Waiting, isReady: () => void): Runnable {
  return {
    name: "join-server",
    needsLeader: false,
    async run(signal) {
      await server.listen();
      isReady();
      await aborted(signal);
      waiting.close();
      await server.close(CLOSE_MS);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
