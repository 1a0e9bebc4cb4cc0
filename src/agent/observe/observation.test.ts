import Type from "typebox";
import { Errors } from "typebox/value";
import { describe, expect, test } from "vitest";
import { KUBERNETES_DATA, ObservedResource, ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { cronJobShape, jobShape } from "../../kube/projection/batch-shapes.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { daemonSetShape, deploymentShape, type Pod, podShape, replicaSetShape } from "../../kube/projection/shapes.ts";
import type { NamespaceUsage } from "../lookups/usage-lookup.ts";
import { HiddenNames } from "../names/names.ts";
import { NO_LOOKUPS } from "../testing/no-lookups.ts";
import { ofCronJob, ofJob } from "./batch-workload.ts";
import { toldRef, withHiddenNames } from "./hidden.ts";
import { identityOf, isSettled, type Lookups, observationOf } from "./observation.ts";
import { outOfDate } from "./out-of-date.ts";
import { ofDaemonSet, ofDeployment, ofPod, ofReplicaSet, type Workload } from "./workload.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const strings = new Interner();

function deployment(name: string, ready = 1): Workload {
  const metadata = {
    name,
    namespace: "shop",
    uid: name,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { app: name, "app.kubernetes.io/version": "1.2.3" },
  };
  const containers = [{ name: "c", image: "web:1", env: [{ name: "PASSWORD", value: "canary" }] }];
  const spec = { replicas: 1, selector: { matchLabels: { app: name } }, template: { spec: { containers } } };
  const conditions = [
    {
      type: "Available",
      status: "True",
      reason: "MinimumReplicasAvailable",
      // As a webhook's refusal quotes what it refused.
      message: 'pods "web" is forbidden: DB_PASSWORD=canary is not allowed',
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  const status = {
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: ready,
    updatedReplicas: 1,
    availableReplicas: ready,
    conditions,
  };
  return ofDeployment(deploymentShape.fromJson({ metadata, spec, status }, strings));
}
function pod(name: string, ready: boolean): Pod {
  const metadata = {
    name,
    namespace: "shop",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "r" }],
  };
  const state = ready ? { running: {} } : { waiting: { reason: "CrashLoopBackOff", message: "a long story" } };
  const containerStatuses = [{ name: "c", ready, restartCount: 4, image: "web:1", state }];
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
  return podShape.fromJson(
    {
      metadata,
      spec: { nodeName: "n1", containers: [] },
      status: { phase: "Running", podIP: "10.0.0.1", conditions, containerStatuses },
    },
    strings,
  );
}

const pods = [pod("a", true), pod("b", false)];

test("what is told is what the contract takes, to the letter", () => {
  const seen = observationOf(deployment("web", 0), { pods }, NOW, NO_LOOKUPS);
  for (const { row, heartbeat } of [seen, outOfDate(seen, "unreadable")]) {
    expect([...Errors(ResourceHeartbeat, heartbeat)]).toEqual([]);
    expect([...Errors(ObservedResource, row)]).toEqual([]);
    expect([...Errors(KUBERNETES_DATA.container ?? Type.Never(), heartbeat?.data.data)]).toEqual([]);
  }
});

const meta = { name: "x", namespace: "shop", uid: "u", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" };
const template = { spec: { containers: [{ name: "c", image: "web:1" }] } };

test.each<readonly [string, object, object, Workload]>([
  [
    "daemon",
    { commandSupported: true, replicas: { desired: 0 } },
    { resourceTypeHint: "daemon" },
    ofDaemonSet(daemonSetShape.fromJson({ metadata: meta, spec: { template } }, strings)),
  ],
  [
    "container",
    { workloadKind: "replicaSet", replicas: { desired: 2 } },
    { providerKind: "ReplicaSet" },
    ofReplicaSet(replicaSetShape.fromJson({ metadata: meta, spec: { replicas: 2, template } }, strings)),
  ],
  [
    "container",
    { workloadKind: "pod", replicas: { desired: 1, ready: 1 }, pods: [{ name: "a" }] },
    { rawIdentity: "v1:Pod:shop:a", managedResourceId: "pod.shop.a" },
    ofPod(pod("a", true)),
  ],
  [
    "worker",
    { triggerCount: 0, replicas: { desired: 3, current: 1, ready: 1 } },
    { rawIdentity: "batch/v1:Job:shop:x", managedResourceId: "job.shop.x" },
    ofJob(jobShape.fromJson({ metadata: meta, spec: { completions: 3 }, status: { active: 1, ready: 1 } }, strings)),
  ],
  [
    "worker",
    { triggerCount: 1, replicas: { current: 1 } },
    { resourceTypeHint: "worker", attributes: { lastScheduleTime: "2026-01-01T03:00:00Z" } },
    ofCronJob(
      cronJobShape.fromJson(
        {
          metadata: meta,
          spec: { schedule: "@daily" },
          status: { active: [{ name: "x-1" }], lastScheduleTime: "2026-01-01T03:00:00Z" },
        },
        strings,
      ),
    ),
  ],
])("of each kind what is told is what the contract takes: %s %o", (type, data, row, workload) => {
  const seen = observationOf(workload, { pods: [pod("a", true)] }, NOW, NO_LOOKUPS);
  expect(seen.heartbeat).toMatchObject({ resourceType: type, data: { resourceType: type, data } });
  expect(seen.row).toMatchObject(row);
  expect([...Errors(ResourceHeartbeat, seen.heartbeat)]).toEqual([]);
  expect([...Errors(ObservedResource, seen.row)]).toEqual([]);
  expect([...Errors(KUBERNETES_DATA[type] ?? Type.Never(), seen.heartbeat?.data.data)]).toEqual([]);
  // Of a worker and a daemon the contract has no such field.
  expect("workloadKind" in (seen.heartbeat?.data.data ?? {})).toBe(type === "container");
});

test("a Job that has ended waits for no time, one that runs does", () => {
  const settled = (status: object): boolean => {
    const job = ofJob(jobShape.fromJson({ metadata: meta, status }, strings));
    return isSettled(job, observationOf(job, {}, NOW, NO_LOOKUPS), {});
  };
  const failed = { type: "Failed", status: "True" };
  expect([settled({ conditions: [failed] }), settled({ active: 1 })]).toEqual([true, false]);
});

test("it tells counts, pods that are not ready first, and that all was collected", () => {
  const { row, heartbeat } = observationOf(deployment("web", 0), { pods }, NOW, NO_LOOKUPS);
  expect(heartbeat).toMatchObject({
    resourceId: "deployment.shop.web",
    data: {
      data: {
        status: {
          health: "unhealthy",
          message: "0 of 1 ready; b: CrashLoopBackOff (4 restarts)",
          partial: false,
          collectionIssues: [],
        },
        restarts: 8,
        pods: [
          { name: "b", waitingReason: "CrashLoopBackOff" },
          { name: "a", ready: true },
        ],
      },
    },
  });
  expect(row).toMatchObject({
    rawIdentity: "apps/v1:Deployment:shop:web",
    version: "1.2.3",
    managedResourceId: "deployment.shop.web",
    counts: { desired: 1, ready: 0 },
  });
});

describe("the id that is the same in every deployment", () => {
  const labelled = (name: string, labels: Readonly<Record<string, string>>) => {
    const workload = deployment(name);
    return { ...workload, metadata: { ...workload.metadata, labels } };
  };
  const told = (workload: Workload) => {
    const { row, heartbeat } = observationOf(workload, { pods: [] }, NOW, NO_LOOKUPS, "dep_1");
    // What has too long a name for one has no heartbeat.
    const data = heartbeat?.data.data ?? { logicalId: row.attributes?.logicalId };
    if (heartbeat !== undefined) expect([...Errors(KUBERNETES_DATA.container ?? Type.Never(), data)]).toEqual([]);
    expect(data).toMatchObject({ logicalId: row.attributes?.logicalId });
    return row.attributes?.logicalId;
  };
  const member = { "sallyport.dev/deployment-id": "dep_1", "sallyport.dev/resource-id": "front" };

  test("is the stack's, of what a release of the deployment installed", () => {
    expect(told(labelled("web", member))).toBe("front");
  });

  test.each([
    ["no release installed", {}],
    ["another deployment's release installed", { ...member, "sallyport.dev/deployment-id": "dep_2" }],
    ["says so of no deployment", { "sallyport.dev/resource-id": "front" }],
    ["has a label that no API server takes", { ...member, "sallyport.dev/resource-id": "../other" }],
    ["has an empty label", { ...member, "sallyport.dev/resource-id": "" }],
  ])("is kind and name of what %s", (_, labels) => {
    expect(told(labelled("web", labels))).toBe("deployment.web");
  });

  test("stays within its bound, and two long names have two", () => {
    const ids = ["a", "b"].map((end) => told(labelled("x".repeat(252) + end, {})));
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^deployment[.][0-9a-f]{64}$/);
  });
});

test("only what is sick is asked for its events: itself, and the pods that are not ready", () => {
  const asked: unknown[] = [];
  const events = {
    of: (ref: object, subjects: readonly string[]) => {
      asked.push([ref, subjects]);
      return { events: [], issue: { reason: "forbidden", severity: "info", source: "events", message: "no" } as const };
    },
    well: ({ name }: { readonly name: string }) => void asked.push(name),
  };
  const { heartbeat } = observationOf(deployment("web", 0), { pods }, NOW, { ...NO_LOOKUPS, events });
  observationOf(deployment("fine"), { pods: [pod("a", true)] }, NOW, { ...NO_LOOKUPS, events });
  expect(asked).toEqual([[{ namespace: "shop", kind: "Deployment", name: "web" }, ["web", "b"]], "fine"]);
  expect(heartbeat?.data.data.status.collectionIssues).toContainEqual(expect.objectContaining({ source: "events" }));
});

test("cpu and memory are told of each pod that was measured, or why there are none", () => {
  const at = "2026-01-01T11:59:30Z";
  const measured = { pods: new Map([["a", { cores: 0.25, bytes: 1_024, at }]]) };
  const seen = (usage: NamespaceUsage) =>
    observationOf(deployment("web", 0), { pods }, NOW, { ...NO_LOOKUPS, usage: { of: () => usage } }).heartbeat;
  const told = seen(measured);
  expect([...Errors(KUBERNETES_DATA.container ?? Type.Never(), told?.data.data)]).toEqual([]);
  const cpu = { value: 0.25, unit: "cores" };
  expect(told?.data.data).toMatchObject({ usageObservedAt: at, pods: [{ name: "b" }, { name: "a", cpu }] });
  // The other runs as well, and what it uses is not known.
  expect(told?.data.data).not.toHaveProperty("cpu");
  const issue = { reason: "not-installed", severity: "info", source: "metrics", message: "none" } as const;
  expect(seen({ pods: new Map(), issue })?.data.data.status).toMatchObject({
    partial: true,
    collectionIssues: [issue],
  });
});

test("it holds nothing of a pod template but images", () => {
  expect(JSON.stringify(observationOf(deployment("web"), { pods: [] }, NOW, NO_LOOKUPS))).not.toContain("canary");
});

test("what may not be read any more is unknown and old, not gone", () => {
  const { row, heartbeat } = outOfDate(observationOf(deployment("web"), { pods: [] }, NOW, NO_LOOKUPS), "unreadable");
  const issue = { reason: "forbidden", severity: "error" };
  expect(row).toMatchObject({ health: "unknown", providerStale: true, collectionIssues: [issue] });
  expect(heartbeat?.data.data.status).toMatchObject({ health: "unknown", stale: true, collectionIssues: [issue] });
});

describe("with names hidden", () => {
  const names = new HiddenNames(Buffer.alloc(32, 1));
  const TRUE = ["crane-7d9c5", "heron-0", "basement-node", "registry.example/heron:1"];
  const at = "2026-01-01T11:59:30Z";
  const sick = podShape.fromJson(
    {
      metadata: {
        ...{ name: TRUE[0], namespace: "shop", uid: "u1", creationTimestamp: "2026-01-01T00:00:00Z" },
        labels: { "statefulset.kubernetes.io/pod-name": TRUE[0], app: "birds" },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: TRUE[2], uid: "n", controller: true }],
      },
      spec: { nodeName: TRUE[2], containers: [{ name: "c", image: TRUE[3] }] },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "False", message: `${TRUE[0]} on ${TRUE[2]} has ${TRUE[3]}` }],
        containerStatuses: [{ name: "c", restartCount: 4, state: { waiting: { reason: "CrashLoopBackOff" } } }],
      },
    },
    strings,
  );
  const asked: string[] = [];
  const lookups: Lookups = {
    events: {
      of: ({ name }) => {
        asked.push(name);
        const involvedObject = { kind: "Pod", name: TRUE[0] };
        return { events: [{ reason: "BackOff", message: `Back-off of ${TRUE[1]} and ${TRUE[3]}`, involvedObject }] };
      },
      well: () => undefined,
    },
    usage: { of: () => ({ pods: new Map([[String(TRUE[0]), { cores: 1, bytes: 2, at }]]) }) },
  };
  const toldOf = (workload: Workload) => {
    const ref = { namespace: "shop", kind: workload.kind, name: workload.metadata.name };
    const told = withHiddenNames(
      ref,
      { workload, related: { pods: [sick] }, lookups },
      { hidden: names, isStarting: false },
    );
    return observationOf(told.workload, told.related, NOW, told.lookups);
  };

  test.each([
    ["a workload and its pods", deployment("web", 0)],
    ["a pod of its own", ofPod(sick)],
  ])("of %s no name of a pod, claim, node or image is told, in no words of others either", (_case, workload) => {
    const { row, heartbeat } = toldOf(workload);
    expect([...Errors(ResourceHeartbeat, heartbeat), ...Errors(ObservedResource, row)]).toEqual([]);
    const text = JSON.stringify([row, heartbeat]);
    for (const name of [...TRUE, "web:1"]) expect(text).not.toContain(name);
    expect(row.message).toContain(`${names.pod("crane-7d9c5")}: CrashLoopBackOff`);
    expect(heartbeat?.data.data).toMatchObject({
      pods: [{ name: names.pod("crane-7d9c5"), nodeName: names.node("basement-node"), cpu: { value: 1 } }],
      events: [{ reason: "BackOff", involvedObject: { name: names.pod("crane-7d9c5") } }],
    });
  });

  test("a pod of its own goes under the name that it was told by, and is asked for under its own", () => {
    asked.length = 0;
    const { row } = toldOf(ofPod(sick));
    const ref = toldRef({ namespace: "shop", kind: "Pod", name: "crane-7d9c5" }, { hidden: names, isStarting: false });
    expect(row.rawIdentity).toBe(identityOf(ref));
    expect(row.attributes).toEqual({
      logicalId: `pod.${names.pod("crane-7d9c5")}`,
      images: [names.image("registry.example/heron:1")],
    });
    expect(asked).toEqual(["crane-7d9c5"]);
    const plain = { namespace: "shop", kind: "Deployment", name: "web" } as const;
    expect(toldRef(plain, { hidden: names, isStarting: false })).toBe(plain);
  });
});
