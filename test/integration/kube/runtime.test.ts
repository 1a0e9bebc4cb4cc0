import { Registry } from "prom-client";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { Informer } from "../../../src/kube/cache/informer.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { addFinalizer, removeFinalizer } from "../../../src/kube/client/finalizers.ts";
import { Controller, type Result } from "../../../src/kube/controller/controller.ts";
import { owns, watches } from "../../../src/kube/controller/sources.ts";
import { LeaderElector, LeadershipLostError } from "../../../src/kube/election/leader-election.ts";
import type { Lease, LeaseClient } from "../../../src/kube/election/lease.ts";
import { referenceTo } from "../../../src/kube/events/event.ts";
import { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { HealthServer } from "../../../src/kube/manager/health.ts";
import { Manager } from "../../../src/kube/manager/manager.ts";
import { kubeMetrics } from "../../../src/kube/metrics/kube-metrics.ts";
import { needsApply } from "../../../src/kube/objects/needs-apply.ts";
import { ownerReference } from "../../../src/kube/objects/owner-reference.ts";
import { type KubeObject, parseKey, resources } from "../../../src/kube/objects/resource.ts";
import { jsonProjection } from "../../../src/kube/projection/projection.ts";
import { PushedClock } from "../platform-away-clock.ts";

const cluster = useCluster();
const NAMESPACE = "runtime";
const never = new AbortController().signal;
const soon = { timeout: 90_000, interval: 20 } as const;
/** Of the elections: a lease that a busy machine holds has lapsed without a wait of a minute. */
const electionClock = new PushedClock();
const ELECTION = { leaseDurationMs: 60_000, renewDeadlineMs: 45_000, retryPeriodMs: 500, fenceMarginMs: 500 };
/** What the election's clock goes on by at each look: a minute in five seconds. */
const LOOK_MS = 250;

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

async function clientOf({ adminKubeconfig }: Cluster, fieldManager = "runtime-test"): Promise<Client> {
  const connection = await connect({ kubeconfig: adminKubeconfig });
  onTestFinished(() => connection.close());
  return new Client(connection, { fieldManager });
}

async function createParent(client: Client, name: string, text: string): Promise<ConfigMap> {
  const metadata = { name, namespace: NAMESPACE, labels: { role: "parent" } };
  return client.create<ConfigMap>(
    resources.configMaps,
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } },
    never,
  );
}

function read<T extends KubeObject = ConfigMap>(client: Client, name: string): Promise<T | undefined> {
  return client.get<T>(resources.configMaps, { namespace: NAMESPACE, name }, never);
}

/** A whole operator: each ConfigMap labelled `role: parent` gets a child with its text in capitals. */
async function operator(identity: string, id: Cluster) {
  const connection = await connect({ kubeconfig: id.adminKubeconfig });
  const registry = new Registry();
  const metrics = kubeMetrics(registry);
  const about = { clock: systemClock, log: silentLogger };
  const client = new Client(connection, { fieldManager: "shouter", metrics: metrics.client });
  const informer = new Informer<ConfigMap>({
    ...about,
    client,
    resource: resources.configMaps,
    projection: jsonProjection<ConfigMap>(),
    namespace: NAMESPACE,
    labelSelector: "role in (parent,child)",
    metrics: metrics.watch,
  });
  const recorder = new EventRecorder({
    ...about,
    client,
    controller: "example.dev/shouter",
    instance: identity,
    metrics,
  });
  let isCutOff = false;
  const network = async <T>(request: () => Promise<T>): Promise<T> => {
    if (isCutOff) throw new Error("cut off");
    return request();
  };
  const leases: LeaseClient = {
    get: (...args) => network(() => client.get(...args)),
    create: (...args) => network(() => client.create(...args)),
    replace: (...args) => network(() => client.replace(...args)),
  };
  const elector = new LeaderElector({
    ...about,
    client: leases,
    namespace: NAMESPACE,
    name: "shouter",
    identity,
    metrics,
    clock: electionClock,
    ...ELECTION,
  });
  let writes = 0;
  const reconcile = async (key: string, { signal }: { readonly signal: AbortSignal }): Promise<Result> => {
    const parent = informer.store.get(key);
    if (parent?.metadata.labels?.role !== "parent" || parent.metadata.deletionTimestamp !== undefined) return;
    const { name } = parent.metadata;
    const child = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        namespace: NAMESPACE,
        name: `${name}-child`,
        labels: { role: "child" },
        ownerReferences: [ownerReference({ ...parent, apiVersion: "v1", kind: "ConfigMap" })],
      },
      data: { text: parent.data?.text?.toUpperCase() ?? "" },
    };
    if (!needsApply(informer.store.get(`${key}-child`), child)) return;
    elector.fence();
    writes += 1;
    await client.apply<ConfigMap>(resources.configMaps, child, {}, signal);
    recorder.record({
      regarding: referenceTo({ ...parent, apiVersion: "v1", kind: "ConfigMap" }),
      type: "Normal",
      reason: "Shouted",
      action: "Shouting",
      note: `child of ${name} written`,
    });
  };
  const controller = new Controller({
    ...about,
    name: "shouter",
    reconcile,
    sources: [
      watches(informer, ({ metadata }) =>
        metadata.labels?.role === "parent" ? [`${NAMESPACE}/${metadata.name}`] : [],
      ),
      owns(informer, { group: "", kind: "ConfigMap" }),
    ],
    metrics,
    concurrency: 2,
  });
  const health = new HealthServer({ port: 0, host: "127.0.0.1", registry });
  const manager = new Manager({ ...about, health, leaderElection: elector, events: recorder })
    .addInformer(informer)
    .addController(controller);
  const abort = new AbortController();
  const ended = manager
    .run(abort.signal)
    .then(
      () => "returned",
      (error: unknown) => error,
    )
    .finally(() => connection.close());
  onTestFinished(async () => {
    abort.abort();
    await ended;
  });
  return {
    identity,
    elector,
    ended,
    stop: () => abort.abort("stop"),
    cutOff: () => {
      isCutOff = true;
    },
    writes: () => writes,
    scrape: async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${health.port}${path}`);
      return { status: response.status, text: await response.text() };
    },
  };
}

type Operator = Awaited<ReturnType<typeof operator>>;

function passesFence({ elector }: Operator): boolean {
  try {
    elector.fence();
    return true;
  } catch {
    return false;
  }
}

test("two operators: one acts, the other takes over when it is cut off, and gives the lease back when it stops", async () => {
  await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }]);
  const client = await clientOf(cluster());
  const both = [await operator("a", cluster()), await operator("b", cluster())] as const;
  const leader = await vi.waitFor(() => {
    const found = both.find(({ elector }) => elector.isLeader);
    if (!found) throw new Error("nobody leads");
    return found;
  }, soon);
  const standby = both[0] === leader ? both[1] : both[0];
  // A standby must be ready; otherwise a rolling update would wait for it for ever.
  await vi.waitFor(async () => expect((await standby.scrape("/readyz")).status).toBe(200), soon);

  const parent = await createParent(client, "one", "hello");
  const child = await vi.waitFor(async () => {
    const found = await read(client, "one-child");
    expect(found?.data).toEqual({ text: "HELLO" });
    return found;
  }, soon);
  expect(child?.metadata.ownerReferences).toEqual([
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "one",
      uid: parent.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);

  await client.delete(resources.configMaps, { namespace: NAMESPACE, name: "one-child" }, {}, never);
  await vi.waitFor(async () => expect((await read(client, "one-child"))?.data).toEqual({ text: "HELLO" }), soon);
  expect([leader.writes(), standby.writes()]).toEqual([2, 0]);

  await vi.waitFor(async () => {
    const { stdout } = await cluster().kubectl(["get", "events.events.k8s.io", "-n", NAMESPACE, "-o", "json"]);
    const { items } = JSON.parse(stdout) as { items: readonly Record<string, unknown>[] };
    expect(items).toMatchObject([
      {
        reason: "Shouted",
        note: "child of one written",
        reportingController: "example.dev/shouter",
        reportingInstance: leader.identity,
        regarding: { kind: "ConfigMap", name: "one", uid: parent.metadata.uid },
        series: { count: 2 },
      },
    ]);
  }, soon);
  const described = await cluster().kubectl(["describe", "configmap", "one", "-n", NAMESPACE]);
  expect(described.stdout).toMatch(/Normal\s+Shouted.*x2.*child of one written/);

  leader.cutOff();
  let together = 0;
  await vi.waitFor(() => {
    electionClock.push(LOOK_MS);
    if (both.every(passesFence)) together += 1;
    expect(standby.elector.isLeader).toBe(true);
  }, soon);
  expect(together).toBe(0);
  expect(await leader.ended).toBeInstanceOf(LeadershipLostError);
  expect(passesFence(leader)).toBe(false);
  await createParent(client, "two", "again");
  await vi.waitFor(async () => expect((await read(client, "two-child"))?.data).toEqual({ text: "AGAIN" }), soon);
  // The new leader found the first child complete and wrote nothing to it.
  expect([leader.writes(), standby.writes()]).toEqual([2, 1]);

  const metrics = await standby.scrape("/metrics");
  for (const line of [
    'controller_runtime_reconcile_total{controller="shouter",result="error"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="shouter"} 2',
    'workqueue_depth{name="shouter",controller="shouter",priority=""} 0',
    'leader_election_master_status{name="shouter"} 1',
    'cache_synced{kind="configmaps"} 1',
    'event_recorder_events_total{result="failed"} 0',
  ]) {
    expect(metrics.text).toContain(`\n${line}\n`);
  }
  expect(metrics.text).toMatch(/\nrest_client_requests_total{code="201",method="PATCH",host="127.0.0.1:\d+"} \d+\n/);

  standby.stop();
  expect(await standby.ended).toBe("returned");
  const lease = await client.get<Lease>(resources.leases, { namespace: NAMESPACE, name: "shouter" }, never);
  expect(lease?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 1 });
});

test("a finalizer is added and removed by test, and a race fails instead of removing somebody else's", async () => {
  await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }]);
  const client = await clientOf(cluster());
  const key = parseKey(`${NAMESPACE}/finalized`);
  const add = (to: ConfigMap, name: string) => addFinalizer(client, resources.configMaps, to, name, never);
  const remove = (from: ConfigMap, name: string) => removeFinalizer(client, resources.configMaps, from, name, never);
  const created = await createParent(client, "finalized", "");
  const first = await add(created, "example.dev/first");
  expect(first.metadata.finalizers).toEqual(["example.dev/first"]);
  await expect(add(created, "example.dev/second")).rejects.toMatchObject({ status: 422, isInvalid: true });
  const second = await add(first, "example.dev/second");
  expect(second.metadata.finalizers).toEqual(["example.dev/first", "example.dev/second"]);
  await remove(second, "example.dev/first");
  const left = await read(client, "finalized");
  expect(left?.metadata.finalizers).toEqual(["example.dev/second"]);
  if (left === undefined) return;
  await expect(remove(second, "example.dev/first")).rejects.toMatchObject({ status: 422 });
  const anew = { ...left, metadata: { ...left.metadata, uid: "another" } };
  await expect(remove(anew, "example.dev/second")).rejects.toMatchObject({ status: 422 });
  await remove(left, "example.dev/second");
  await client.delete(resources.configMaps, key, {}, never);
  expect(await read(client, "finalized")).toBeUndefined();
  // A cache that is a moment behind still has it.
  await remove(left, "example.dev/second");
});
