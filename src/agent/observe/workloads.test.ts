import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { Client } from "../../kube/client/client.ts";
import { apiVersionOf } from "../../kube/objects/resource.ts";
import { REVISION_ANNOTATION } from "../../kube/projection/common-shapes.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { OBSERVED, OBSERVED_KINDS, type ObservedKind } from "../kernel/observed-kinds.ts";
import { HiddenNames } from "../names/names.ts";
import { NO_LOOKUPS } from "../testing/no-lookups.ts";
import { toldRef, withHiddenNames } from "./hidden.ts";
import { type Lists, PARTS } from "./lists.ts";
import { identityOf, observationOf, type WorkloadRef } from "./observation.ts";
import { Workloads } from "./workloads.ts";

const strings = new Interner();
const NAMESPACE = "shop";
type Json = Readonly<Record<string, unknown>>;

/** The caches of one namespace, filled by the test as a watch fills them. */
class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly caches = new Map<ObservedKind, Cache<never>>();
  readonly unreadable = new Set<ObservedKind>();
  readonly dirty = new Set<string>();
  readonly workloads = new Workloads({
    maxPods: 1_000,
    client: {} as Client,
    namespaces: [NAMESPACE],
    scope: "namespaces",
    kinds: OBSERVED_KINDS,
    clock: this.clock,
    log: silentLogger,
    watchMetrics: undefined as never,
    mayRead: (_, kind) => !this.unreadable.has(kind),
    changed: ({ kind, name }) => void this.dirty.add(`${kind}/${name}`),
    open: (kinds) => Object.fromEntries(kinds.map((kind) => [kind, this.list(kind)])) as Lists,
  });
  #version = 0;

  set(kind: ObservedKind, object: Json): void {
    const { metadata = {}, ...rest } = object as { metadata?: Json };
    this.#version += 1;
    const own = {
      namespace: NAMESPACE,
      generation: 1,
      creationTimestamp: "2025-01-01T00:00:00Z",
      ...metadata,
      resourceVersion: String(this.#version),
    };
    const projected = PARTS[kind].projection.fromJson({ metadata: own, ...rest }, strings);
    this.caches.get(kind)?.apply("MODIFIED", projected as never);
  }

  delete(kind: ObservedKind, name: string): void {
    const cache = this.caches.get(kind);
    const found = cache?.store.get(`${NAMESPACE}/${name}`);
    if (found !== undefined) cache?.apply("DELETED", found);
  }

  /** What changed since it was asked last. */
  marked(): readonly string[] {
    const all = [...this.dirty].toSorted();
    this.dirty.clear();
    return all;
  }

  /** `health lifecycle: message`, or undefined for what is not told by itself. */
  told(kind: ObservedKind, name: string): string | undefined {
    const ref: WorkloadRef = { namespace: NAMESPACE, kind, name };
    const workload = this.workloads.workload(ref);
    if (workload === undefined) return undefined;
    const { row } = observationOf(workload, this.workloads.relatedTo(workload), this.clock.wallNow(), NO_LOOKUPS);
    return `${row.health} ${row.lifecycle}${row.message ? `: ${row.message}` : ""}`;
  }

  list(kind: ObservedKind): object {
    const cache = new Cache<never>({
      indexes: (PARTS[kind].indexes ?? {}) as never,
      clock: this.clock,
      log: silentLogger,
      freeze: true,
    });
    this.caches.set(kind, cache);
    const onChange = cache.onChange.bind(cache);
    const currentAtMs = this.clock.monotonicMs.bind(this.clock);
    return {
      ...{ resource: OBSERVED[kind].resource, store: cache.store, synced: true, refusal: undefined, onChange },
      get currentAtMs() {
        return currentAtMs();
      },
    };
  }
}

const ownedBy = (kind: ObservedKind, name: string): Json => ({
  ownerReferences: [
    { apiVersion: apiVersionOf(OBSERVED[kind].resource), kind, name, uid: `${kind}-${name}`, controller: true },
  ],
});
const meta = (kind: ObservedKind, name: string, more: Json = {}): Json => ({
  name,
  uid: `${kind}-${name}`,
  ...more,
});

let world: World;
beforeEach(() => {
  world = new World();
});

function deployment(replicas = 2, ready = replicas, revision = "2"): void {
  const metadata = meta("Deployment", "api", { annotations: { [REVISION_ANNOTATION]: revision } });
  const status = { observedGeneration: 1, replicas, updatedReplicas: replicas, readyReplicas: ready };
  world.set("Deployment", { metadata, spec: { replicas }, status });
}

function replicaSet(name: string, revision?: string, owner: Json = ownedBy("Deployment", "api")): void {
  const annotations = revision === undefined ? {} : { [REVISION_ANNOTATION]: revision };
  const metadata = meta("ReplicaSet", name, { annotations, ...owner });
  world.set("ReplicaSet", { metadata, spec: { replicas: 1 }, status: { observedGeneration: 1, replicas: 1 } });
}

interface PodWish {
  readonly owner?: Json;
  readonly waiting?: string;
  readonly restarts?: number;
  readonly hash?: string;
  readonly at?: string;
  readonly unschedulable?: true;
}

function pod(name: string, { owner = {}, waiting, restarts = 0, hash, at, unschedulable }: PodWish): void {
  const labels = hash === undefined ? {} : { "pod-template-hash": hash };
  const creation = at === undefined ? {} : { creationTimestamp: at };
  const state = waiting === undefined ? { running: {} } : { waiting: { reason: waiting } };
  const refused = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
  const conditions = [
    { type: "Ready", status: waiting === undefined && !unschedulable ? "True" : "False" },
    ...(unschedulable ? [refused] : []),
  ];
  const containerStatuses = [{ name: "app", restartCount: restarts, state }];
  const status = { phase: unschedulable ? "Pending" : "Running", conditions, containerStatuses };
  world.set("Pod", { metadata: meta("Pod", name, { labels, ...owner, ...creation }), spec: {}, status });
}

describe("what belongs to a Deployment", () => {
  test("is found through its ReplicaSets, and only pods of the current one count", () => {
    deployment(2, 1);
    replicaSet("api-old", "1");
    replicaSet("api-new", "2");
    pod("api-old-a", { owner: ownedBy("ReplicaSet", "api-old"), waiting: "ImagePullBackOff" });
    expect(world.told("Deployment", "api")).toBe("degraded running: 1 of 2 ready");
    pod("api-new-a", { owner: ownedBy("ReplicaSet", "api-new"), waiting: "CrashLoopBackOff" });
    expect(world.told("Deployment", "api")).toBe("degraded running: 1 of 2 ready; api-new-a: CrashLoopBackOff");
    expect([world.told("ReplicaSet", "api-new"), world.told("Pod", "api-new-a")]).toEqual([undefined, undefined]);
    expect(world.workloads.names(NAMESPACE, "ReplicaSet")).toEqual([]);
  });

  test("marks the Deployment when it changes, also when the pod is seen before its ReplicaSet", () => {
    deployment();
    expect(world.marked()).toEqual(["Deployment/api"]);
    pod("api-1-a", { owner: ownedBy("ReplicaSet", "api-1"), hash: "1" });
    expect(world.marked()).toEqual([]);
    replicaSet("api-1", "2");
    expect(world.marked()).toEqual(["Deployment/api"]);
    pod("api-1-a", { owner: ownedBy("ReplicaSet", "api-1"), hash: "1", waiting: "ErrImagePull" });
    expect(world.marked()).toEqual(["Deployment/api"]);
    world.delete("Pod", "api-1-a");
    expect(world.marked()).toEqual(["Deployment/api"]);
  });

  test("is found by the ReplicaSet's name while ReplicaSets may not be read", () => {
    deployment(2, 1);
    replicaSet("api-1", "2");
    world.unreadable.add("ReplicaSet");
    pod("api-1-a", { owner: ownedBy("ReplicaSet", "api-1"), hash: "1", waiting: "ErrImagePull" });
    expect(world.marked()).toContain("Deployment/api");
    expect(world.told("Deployment", "api")).toBe("degraded running: 1 of 2 ready; api-1-a: ErrImagePull");
  });

  test("is not known while pods may not be read: the counts decide, and the heartbeat says so", () => {
    deployment(2, 1);
    replicaSet("api-1", "2");
    pod("api-1-a", { owner: ownedBy("ReplicaSet", "api-1"), waiting: "ErrImagePull" });
    world.unreadable.add("Pod");
    expect(world.told("Deployment", "api")).toBe("degraded running: 1 of 2 ready");
    const workload = world.workloads.workload({ namespace: NAMESPACE, kind: "Deployment", name: "api" });
    if (workload === undefined) throw new Error("it is there");
    const { heartbeat } = observationOf(
      workload,
      world.workloads.relatedTo(workload),
      world.clock.wallNow(),
      NO_LOOKUPS,
    );
    expect(heartbeat?.data.data.status.collectionIssues).toContainEqual(
      expect.objectContaining({ source: "kubernetes", reason: "forbidden" }),
    );
  });

  test("is never taken by a ReplicaSet of another group", () => {
    const owner = {
      ownerReferences: [{ apiVersion: "x.example/v1", kind: "Deployment", name: "api", uid: "x", controller: true }],
    };
    deployment();
    replicaSet("api-1", "2", owner);
    expect(world.marked()).toEqual(["Deployment/api"]);
    expect(world.told("ReplicaSet", "api-1")).toBeUndefined();
  });
});

describe("what no controller owns is told by itself", () => {
  test("a ReplicaSet, with its pods", () => {
    replicaSet("own", undefined, {});
    pod("own-a", { owner: ownedBy("ReplicaSet", "own"), waiting: "CrashLoopBackOff", restarts: 4 });
    expect(world.marked()).toEqual(["ReplicaSet/own"]);
    expect(world.told("ReplicaSet", "own")).toBe(
      "unhealthy running: 0 of 1 ready; own-a: CrashLoopBackOff (4 restarts)",
    );
    expect(world.workloads.names(NAMESPACE, "ReplicaSet")).toEqual(["own"]);
  });

  test("a pod; not one of a node or of another's controller", () => {
    pod("bare", {});
    const of = (kind: string, apiVersion: string): Json => ({
      ownerReferences: [{ apiVersion, kind, name: "x", uid: "x", controller: true }],
    });
    pod("etcd-node-1", { owner: of("Node", "v1") });
    pod("broker-0", { owner: of("Kafka", "kafka.example/v1") });
    expect(world.workloads.names(NAMESPACE, "Pod")).toEqual(["bare"]);
    expect([world.told("Pod", "bare"), world.told("Pod", "etcd-node-1")]).toEqual(["healthy running", undefined]);
    expect(world.marked()).toEqual(["Pod/bare"]);
  });

  test("a pod that a ReplicaSet adopts is told no more, and both are looked at", () => {
    replicaSet("own", undefined, {});
    pod("bare", {});
    world.marked();
    pod("bare", { owner: ownedBy("ReplicaSet", "own") });
    expect(world.marked()).toEqual(["Pod/bare", "ReplicaSet/own"]);
    expect(world.told("Pod", "bare")).toBeUndefined();
  });

  test("a Job; one of a CronJob is told with that", () => {
    job("by-hand", "Complete");
    job("nightly-1", "Failed", ownedBy("CronJob", "nightly"));
    expect(world.marked()).toEqual(["CronJob/nightly", "Job/by-hand"]);
    expect([world.told("Job", "by-hand"), world.told("Job", "nightly-1")]).toEqual(["healthy stopped", undefined]);
    job("by-hand", "Failed");
    expect(world.told("Job", "by-hand")).toBe("unhealthy failed: Job failed (BackoffLimitExceeded)");
  });

  test("a claim and a disruption budget, without a heartbeat", () => {
    world.set("PersistentVolumeClaim", {
      metadata: meta("PersistentVolumeClaim", "data"),
      status: { phase: "Lost" },
    });
    const status = { observedGeneration: 1, expectedPods: 2, currentHealthy: 1, desiredHealthy: 2 };
    world.set("PodDisruptionBudget", { metadata: meta("PodDisruptionBudget", "api"), status });
    expect(world.told("PersistentVolumeClaim", "data")).toBe("unhealthy failed: volume lost");
    expect(world.told("PodDisruptionBudget", "api")).toBe("degraded running: 1 of 2 healthy; no disruption allowed");
    const budget = world.workloads.workload({ namespace: NAMESPACE, kind: "PodDisruptionBudget", name: "api" });
    if (budget === undefined) throw new Error("it is there");
    const { row, heartbeat } = observationOf(budget, {}, world.clock.wallNow(), NO_LOOKUPS);
    expect(heartbeat).toBeUndefined();
    expect(row).toMatchObject({
      resourceTypeHint: "pod-disruption-budget",
      managedResourceId: null,
      counts: { desired: 2, current: 2, ready: 1 },
      attributes: { disruptionsAllowed: 0 },
    });
  });
});

function job(
  name: string,
  end: "Complete" | "Failed" | undefined,
  owner: Json = {},
  at = "2026-01-01T00:00:00Z",
): void {
  const metadata = meta("Job", name, { ...owner, creationTimestamp: at });
  const condition = { type: end, status: "True", reason: end === "Failed" ? "BackoffLimitExceeded" : "Completions" };
  const status = { startTime: at, conditions: end === undefined ? [] : [condition] };
  world.set("Job", { metadata, spec: {}, status });
}

test("two failed runs of a CronJob count, also when it has deleted the first, and one that succeeds ends it", () => {
  world.set("CronJob", { metadata: meta("CronJob", "nightly"), spec: { schedule: "@daily" }, status: {} });
  const owner = ownedBy("CronJob", "nightly");
  job("nightly-1", "Failed", owner, "2026-01-01T01:00:00Z");
  expect(world.told("CronJob", "nightly")).toBe("healthy running: last run failed");
  world.delete("Job", "nightly-1");
  job("nightly-2", "Failed", owner, "2026-01-01T02:00:00Z");
  expect(world.told("CronJob", "nightly")).toBe("unhealthy failed: last 2 runs failed");
  job("nightly-3", "Complete", owner, "2026-01-01T03:00:00Z");
  expect(world.told("CronJob", "nightly")).toBe("healthy running");
  world.delete("Job", "nightly-3");
  job("nightly-4", "Failed", owner, "2026-01-01T04:00:00Z");
  expect(world.told("CronJob", "nightly")).toBe("healthy running: last run failed");
});

describe("a claim that is not bound", () => {
  function statefulSet(name: string): void {
    const selector = { matchLabels: { app: "db" } };
    const volumeClaimTemplates = [{ metadata: { name: "data" } }, { metadata: { name: "x" } }];
    const status = { observedGeneration: 1, replicas: 1, readyReplicas: 0, currentRevision: "1", updateRevision: "1" };
    world.set("StatefulSet", {
      metadata: meta("StatefulSet", name),
      spec: { replicas: 1, selector, volumeClaimTemplates },
      status,
    });
    pod(`${name}-0`, { owner: ownedBy("StatefulSet", name), unschedulable: true });
  }
  const claim = (name: string, phase: string): void =>
    world.set("PersistentVolumeClaim", { metadata: meta("PersistentVolumeClaim", name), status: { phase } });

  test.each([
    ["Pending", "0 of 1 ready; db-0: Unschedulable (claim data-db-0 not bound)"],
    ["Lost", "0 of 1 ready; db-0: Unschedulable (claim data-db-0 has lost its volume)"],
    ["Bound", "0 of 1 ready; db-0: Unschedulable"],
  ])("and is %s explains its pod", (phase, message) => {
    statefulSet("db");
    claim("data-db-0", phase);
    // Another set's, whose name ends the same, also where both sets select the same labels.
    statefulSet("my-db");
    claim("x-my-db-0", "Pending");
    expect(world.told("StatefulSet", "db")).toBe(`unhealthy running: ${message}`);
    expect(world.told("StatefulSet", "my-db")).toContain("(claim x-my-db-0 not bound)");
  });

  test("explains its pod under the names that both are told by", () => {
    const hidden = new HiddenNames(Buffer.alloc(32, 1));
    statefulSet("heron");
    claim("data-heron-0", "Pending");
    const toldOf = (kind: ObservedKind, name: string) => {
      const ref = { namespace: NAMESPACE, kind, name };
      const workload = world.workloads.workload(ref);
      if (workload === undefined) throw new Error("it is there");
      const seen = { workload, related: world.workloads.relatedTo(workload), lookups: NO_LOOKUPS };
      const told = withHiddenNames(ref, seen, { hidden, isStarting: false });
      return observationOf(told.workload, told.related, world.clock.wallNow(), told.lookups);
    };
    const [set, own] = [toldOf("StatefulSet", "heron"), toldOf("PersistentVolumeClaim", "data-heron-0")];
    const [pod, alias] = [hidden.pod("heron-0"), hidden.claim("data-heron-0")];
    expect(set.row.message).toBe(`0 of 1 ready; ${pod}: Unschedulable (claim ${alias} not bound)`);
    const ref = toldRef(
      { namespace: NAMESPACE, kind: "PersistentVolumeClaim", name: "data-heron-0" },
      { hidden, isStarting: false },
    );
    expect([own.row.displayName, own.row.rawIdentity]).toEqual([alias, identityOf(ref)]);
    expect(
      JSON.stringify([set, own]).replaceAll("Pod-heron-0", "uid").replaceAll("Claim-data-heron-0", "uid"),
    ).not.toContain("heron-0");
  });
});

describe("restarts", () => {
  const owner = ownedBy("ReplicaSet", "api-1");
  beforeEach(() => {
    deployment();
    replicaSet("api-1", "2");
  });

  test("of last month are no fault, three in ten minutes are, and after that they are history", () => {
    pod("a", { owner, restarts: 40 });
    expect(world.told("Deployment", "api")).toBe("healthy running");
    for (const restarts of [41, 42]) {
      world.clock.advance(60_000);
      pod("a", { owner, restarts });
      expect(world.told("Deployment", "api")).toBe("healthy running");
    }
    world.clock.advance(60_000);
    pod("a", { owner, restarts: 43 });
    expect(world.told("Deployment", "api")).toBe("degraded running: a: 3 restarts in 120 s");
    // The first of them is ten minutes old.
    world.clock.advance(480_000);
    expect(world.told("Deployment", "api")).toBe("healthy running");
  });

  test("that come every five minutes are no fault, however many they get", () => {
    pod("a", { owner });
    for (let restarts = 1; restarts <= 30; restarts += 1) {
      world.clock.advance(300_001);
      pod("a", { owner, restarts });
      expect(world.told("Deployment", "api")).toBe("healthy running");
    }
  });

  test("are counted from the first within ten minutes, however many follow", () => {
    pod("a", { owner, restarts: 100 });
    for (let restarts = 101; restarts <= 130; restarts += 1) {
      world.clock.advance(10_000);
      pod("a", { owner, restarts });
    }
    expect(world.told("Deployment", "api")).toBe("degraded running: a: 30 restarts in 290 s");
  });

  test("of a pod that is gone are forgotten: the next of that name begins anew", () => {
    pod("a", { owner });
    world.clock.advance(1_000);
    pod("a", { owner, restarts: 5 });
    world.clock.advance(1_000);
    world.delete("Pod", "a");
    pod("a", { owner, restarts: 5 });
    expect(world.told("Deployment", "api")).toBe("healthy running");
  });
});

test("a Deployment that is scaled up from nothing is not unhealthy for a minute, and then it is", () => {
  deployment(0, 0);
  expect(world.told("Deployment", "api")).toBe("healthy stopped");
  world.clock.advance(1_000);
  deployment(3, 0);
  expect(world.told("Deployment", "api")).toBe("unknown running: 0 of 3 ready");
  world.clock.advance(60_000);
  expect(world.told("Deployment", "api")).toBe("unhealthy running: 0 of 3 ready");
  // Scaled further: nothing of it is new.
  deployment(4, 0);
  expect(world.told("Deployment", "api")).toBe("unhealthy running: 0 of 4 ready");
});

test("all that is watched is selected by the API server", () => {
  const asked: unknown[] = [];
  const open = (kinds: readonly ObservedKind[], common: object): Lists => {
    asked.push(kinds, common);
    return {};
  };
  const common = { client: {} as Client, namespaces: [NAMESPACE], kinds: OBSERVED_KINDS, clock: world.clock };
  const scope = "namespaces";
  const never = { watchMetrics: undefined as never, mayRead: () => true, changed: () => undefined };
  new Workloads({
    maxPods: 1_000,
    ...common,
    ...never,
    scope,
    log: silentLogger,
    labelSelector: "team=shop",
    open,
  });
  expect(asked).toMatchObject([OBSERVED_KINDS, { namespace: NAMESPACE, labelSelector: "team=shop" }]);
});

describe("in the scope of the cluster", () => {
  const opened: { readonly namespace?: string; readonly keep?: (object: object) => boolean }[] = [];
  let shared: Workloads;
  const marked: string[] = [];
  beforeEach(() => {
    opened.length = 0;
    marked.length = 0;
    shared = new Workloads({
      maxPods: 1_000,
      ...{ client: {} as Client, namespaces: [NAMESPACE, "jobs"], scope: "cluster", kinds: OBSERVED_KINDS },
      ...{ clock: world.clock, log: silentLogger, watchMetrics: undefined as never, mayRead: () => true },
      changed: ({ namespace, kind, name }) => void marked.push(`${namespace}/${kind}/${name}`),
      open: (kinds, common) => {
        opened.push(common as (typeof opened)[number]);
        return Object.fromEntries(kinds.map((kind) => [kind, world.list(kind)])) as Lists;
      },
    });
  });

  test("there is one list a kind, which keeps what is of an opened namespace alone", () => {
    expect(opened.map(({ namespace }) => namespace)).toEqual([undefined]);
    expect(shared.runnables()).toHaveLength(OBSERVED_KINDS.length);
    const isKept = (namespace: string) => opened[0]?.keep?.({ metadata: { namespace } });
    expect([isKept(NAMESPACE), isKept("jobs"), isKept("bank")]).toEqual([true, true, false]);
    expect([shared.state("jobs", "Pod"), shared.state("bank", "Pod")]).toEqual(["read", "unreadable"]);
  });

  test("each namespace has its own, also of the names and owners that another one's objects say", () => {
    const bare = (namespace: string) =>
      world.set("Pod", { metadata: { ...meta("Pod", `of-${namespace}`), namespace } });
    bare(NAMESPACE);
    bare("jobs");
    world.set("Pod", { metadata: { ...meta("Pod", "stray", ownedBy("StatefulSet", "db")), namespace: "jobs" } });
    world.set("StatefulSet", { metadata: meta("StatefulSet", "db"), spec: { replicas: 1 } });
    expect(shared.names(NAMESPACE, "Pod")).toEqual(["of-shop"]);
    expect(shared.names("jobs", "Pod")).toEqual(["of-jobs"]);
    expect([shared.names(NAMESPACE, "StatefulSet"), shared.names("jobs", "StatefulSet")]).toEqual([["db"], []]);
    expect([shared.podCount(NAMESPACE), shared.podCount("jobs")]).toEqual([1, 2]);
    const set = shared.workload({ namespace: NAMESPACE, kind: "StatefulSet", name: "db" });
    expect(set && shared.relatedTo(set).pods).toEqual([]);
    expect(marked).toEqual(["shop/Pod/of-shop", "jobs/Pod/of-jobs", "jobs/StatefulSet/db", "shop/StatefulSet/db"]);
  });
});
