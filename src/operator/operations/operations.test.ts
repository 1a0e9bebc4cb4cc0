import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { BUILT_IN, OPERATIONS } from "../../crds/operations/catalog.ts";
import { type KubeObject, type Resource, resources } from "../../kube/objects/resource.ts";
import { FakeCluster, refusal } from "../testing/fake-cluster.ts";
import { findOperation } from "./catalog.ts";
import { Effect, OperationError } from "./operation.ts";
import { rolloutOf } from "./rollout-status.ts";

const signal = new AbortController().signal;
const meta = (name: string, more: object = {}): KubeObject["metadata"] => ({
  name,
  namespace: "shop",
  uid: `uid-of-${name}`,
  resourceVersion: "0",
  generation: 3,
  creationTimestamp: "2026-01-01T08:00:00Z",
  ...more,
});
// biome-ignore lint/suspicious/noExplicitAny: objects as a server has them, fields at will.
const object = (kind: string, name: string, fields: object, metadata: object = {}): any => ({
  apiVersion: "v1",
  kind,
  metadata: meta(name, metadata),
  ...fields,
});
const OWNED = {
  ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "r", controller: true }],
};

function cluster(...found: readonly (readonly [Resource, KubeObject])[]): FakeCluster {
  const made = new FakeCluster();
  for (const [resource, each] of found) made.put(resource, each);
  return made;
}

/** Runs and verifies, as the executor does. */
async function perform(
  name: string,
  params: Record<string, unknown>,
  on: FakeCluster,
): Promise<Record<string, unknown>> {
  const place = BUILT_IN.isClusterWide(`kubernetes/${name}`) ? {} : { namespace: "shop" };
  const bound = findOperation(`kubernetes/${name}`)?.bind({ ...place, ...params });
  if (!bound?.ok) throw new Error(bound?.problems.join("; ") ?? "unknown");
  const call = {
    client: on.client("grant"),
    effect: new Effect(),
    clock: new FakeClock(),
    startedAt: new Date("2026-01-01T10:00:00.123Z"),
    redact: (text: string) => text.replaceAll("hunter2", "***"),
  };
  const done = await bound.params.run(call, signal);
  return { ...(await bound.params.verify(call, done, signal)), effect: call.effect.state };
}

test("every operation that is declared can be done", () => {
  for (const { command, name, tier } of OPERATIONS) expect(findOperation(command)).toMatchObject({ name, tier });
  expect(findOperation("toString")).toBeUndefined();
});

test("scale sets the replicas it was asked for, once, and reads them back", async () => {
  const on = cluster([resources.deployments, object("Deployment", "web", { spec: { replicas: 2 } })]);
  const done = await perform("scale", { kind: "deployment", name: "web", replicas: 5 }, on);
  expect(done).toMatchObject({ from: 2, to: 5, running: 1, effect: "applied" });
  expect(on.changes()).toEqual(["patch deployments/scale"]);
});

test("scale to what is there already changes nothing", async () => {
  const on = cluster([resources.statefulSets, object("StatefulSet", "db", { spec: {} })]);
  expect(await perform("scale", { kind: "statefulset", name: "db", replicas: 0 }, on)).toMatchObject({
    from: 0,
    to: 0,
    effect: "none",
  });
  expect(on.changes()).toEqual([]);
});

test("scale reads again when the workload has moved on, and gives up after six times", async () => {
  const on = cluster([resources.deployments, object("Deployment", "web", { spec: { replicas: 2 } })]);
  let conflicts = 0;
  on.fault = ({ verb }, when) => {
    if (verb !== "patch" || when !== "before" || conflicts >= 3) return;
    conflicts += 1;
    throw refusal(409, "Conflict");
  };
  expect(await perform("scale", { kind: "deployment", name: "web", replicas: 5 }, on)).toMatchObject({ to: 5 });
  conflicts = Number.NEGATIVE_INFINITY;
  await expect(perform("scale", { kind: "deployment", name: "web", replicas: 6 }, on)).rejects.toThrow("Conflict");
});

test("scale says so when something else sets another number", async () => {
  const on = cluster([resources.deployments, object("Deployment", "web", { spec: { replicas: 2 } })]);
  on.fault = ({ verb }, when) => {
    if (verb === "patch" && when === "after")
      on.put(resources.deployments, object("Deployment", "web", { spec: { replicas: 9 } }));
  };
  await expect(perform("scale", { kind: "deployment", name: "web", replicas: 5 }, on)).rejects.toThrow(
    "set to 9 replicas",
  );
});

test("a restart writes one annotation, and the same one however often it is tried", async () => {
  const deployment = object("Deployment", "web", {
    spec: { template: { metadata: { annotations: { a: "b" } }, spec: { containers: [] } } },
  });
  const on = cluster([resources.deployments, deployment]);
  const restart = (): Promise<unknown> => perform("rollout-restart", { kind: "deployment", name: "web" }, on);
  expect(await restart()).toMatchObject({ restartedAt: "2026-01-01T10:00:00.123Z", effect: "applied" });
  expect(await restart()).toMatchObject({ effect: "none" });
  const stored = on.peek<typeof deployment>(resources.deployments, "web", "shop");
  expect(stored.spec.template.metadata.annotations).toEqual({
    a: "b",
    "kubectl.kubernetes.io/restartedAt": "2026-01-01T10:00:00.123Z",
  });
});

test("a paused workload is not restarted", async () => {
  const on = cluster([
    resources.deployments,
    object("Deployment", "web", { spec: { paused: true, template: { spec: { containers: [] } } } }),
  ]);
  await expect(perform("rollout-restart", { kind: "deployment", name: "web" }, on)).rejects.toThrow(OperationError);
  expect(on.changes()).toEqual([]);
});

test("restart-pod deletes a pod that a controller replaces", async () => {
  const on = cluster([resources.pods, object("Pod", "web-1", { spec: { containers: [] } }, OWNED)]);
  expect(await perform("restart-pod", { pod: "web-1" }, on)).toMatchObject({
    pod: "web-1",
    replacedBy: "ReplicaSet/web-1",
    terminating: false,
  });
  expect(on.all(resources.pods)).toEqual([]);
});

test.each([
  ["nothing", {}],
  ["an owner that does not control it", { ownerReferences: [{ ...OWNED.ownerReferences[0], controller: false }] }],
  ["its node", { ownerReferences: [{ ...OWNED.ownerReferences[0], kind: "Node" }] }],
])("restart-pod leaves a pod alone that %s would replace", async (_, metadata) => {
  const on = cluster([resources.pods, object("Pod", "single", { spec: { containers: [] } }, metadata)]);
  await expect(perform("restart-pod", { pod: "single" }, on)).rejects.toThrow("no controller");
  expect(on.changes()).toEqual([]);
  expect(await perform("delete-pod", { pod: "single" }, on)).toMatchObject({ pod: "single", alreadyGone: false });
});

test("a pod that took the name since we looked stays", async () => {
  const on = cluster([resources.pods, object("Pod", "db-0", { spec: { containers: [] } }, OWNED)]);
  on.fault = ({ verb }, when) => {
    if (verb === "get" && when === "after")
      on.put(resources.pods, object("Pod", "db-0", { spec: { containers: [] } }, { ...OWNED, uid: "another" }));
  };
  await expect(perform("restart-pod", { pod: "db-0" }, on)).rejects.toThrow("Conflict");
  expect(on.all(resources.pods)).toHaveLength(1);
});

test("get-pods tells phase, readiness and restarts, and whether there are more", async () => {
  const pod = (name: string, more: object = {}) =>
    [
      resources.pods,
      object(
        "Pod",
        name,
        {
          spec: { nodeName: "n", containers: [{}, {}] },
          status: {
            phase: "Running",
            containerStatuses: [
              { ready: true, restartCount: 2 },
              { ready: false, restartCount: 1 },
            ],
          },
        },
        more,
      ),
    ] as const;
  const on = cluster(pod("a"), pod("b", { deletionTimestamp: "2026-01-01T09:00:00Z" }), pod("c"));
  const { pods, more } = await perform("get-pods", { limit: 2 }, on);
  expect(pods).toMatchObject([
    { name: "a", phase: "Running", ready: "1/2", restarts: 3, node: "n" },
    { name: "b", phase: "Terminating" },
  ]);
  expect(more).toBe(true);
  expect((await perform("get-pods", { limit: 3 }, on)).more).toBe(false);
});

test("describe shows names of environment variables, never their values, and no annotations", async () => {
  const containers = [
    { name: "app", image: "i:1", env: [{ name: "DB_PASSWORD", value: "canary" }], args: ["--key=canary"] },
  ];
  const annotated = { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "canary" } };
  const conditions = [{ type: "Ready", status: "False", reason: "X", message: "login with hunter2 failed" }];
  const on = cluster(
    [resources.pods, object("Pod", "p", { spec: { containers }, status: { conditions } }, annotated)],
    [resources.deployments, object("Deployment", "web", { spec: { template: { spec: { containers } } } }, annotated)],
  );
  for (const [kind, name] of [
    ["pod", "p"],
    ["deployment", "web"],
  ]) {
    const shown = JSON.stringify(await perform("describe", { kind, name }, on));
    expect(shown).toContain("DB_PASSWORD");
    expect(shown).not.toMatch(/canary|hunter2/);
  }
});

test("logs are redacted, printable, and keep their end", async () => {
  const on = cluster([
    resources.pods,
    object("Pod", "p", { spec: { containers: [{ name: "app" }, { name: "side" }] } }),
  ]);
  on.logs = "first\u001b[31m\npassword hunter2\nlast";
  expect(await perform("logs", { pod: "p" }, on)).toMatchObject({
    container: "app",
    cut: false,
    log: "first[31m\npassword ***\nlast",
  });
  on.logs = `${"x".repeat(99)}\n`.repeat(2_000);
  const { log, cut } = await perform("logs", { pod: "p", container: "side" }, on);
  expect([cut, String(log).length <= 30_000, String(log).startsWith("xxx"), String(log).endsWith("x\n")]).toEqual([
    true,
    true,
    true,
    true,
  ]);
});

test("the newest events come first, from either kind of recorder", async () => {
  const event = (name: string, fields: object) =>
    [resources.events, object("Event", name, { regarding: { kind: "Pod", name: "p" }, note: "n", ...fields })] as const;
  const on = cluster(
    event("old", { deprecatedLastTimestamp: "2026-01-01T08:00:00Z", eventTime: null, deprecatedCount: 4 }),
    event("new", { eventTime: "2026-01-01T09:30:00Z" }),
    event("series", {
      eventTime: "2026-01-01T07:00:00Z",
      series: { count: 7, lastObservedTime: "2026-01-01T09:00:00Z" },
    }),
  );
  const { events } = await perform("events", { limit: 2 }, on);
  expect(events).toMatchObject([
    { at: "2026-01-01T09:30:00Z", count: 1 },
    { at: "2026-01-01T09:00:00Z", count: 7 },
  ]);
});

const workload = (spec: object, status: object): never => object("Deployment", "web", { spec, status }) as never;
test.each([
  [
    "complete",
    "deployment",
    { replicas: 2 },
    { observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
    true,
  ],
  [
    "unseen by its controller",
    "deployment",
    { replicas: 2 },
    { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
    false,
  ],
  [
    "not all updated",
    "deployment",
    { replicas: 2 },
    { observedGeneration: 3, replicas: 2, updatedReplicas: 1, availableReplicas: 2 },
    false,
  ],
  [
    "old pods left",
    "deployment",
    { replicas: 2 },
    { observedGeneration: 3, replicas: 3, updatedReplicas: 2, availableReplicas: 2 },
    false,
  ],
  [
    "not all available",
    "deployment",
    { replicas: 2 },
    { observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: 1 },
    false,
  ],
  [
    "held back by a partition",
    "statefulset",
    { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
    { observedGeneration: 3, replicas: 3, updatedReplicas: 1, availableReplicas: 3 },
    true,
  ],
  [
    "on every node",
    "daemonset",
    {},
    { observedGeneration: 3, desiredNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 4 },
    true,
  ],
  [
    "past its deadline",
    "deployment",
    { replicas: 1 },
    {
      observedGeneration: 3,
      replicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
      conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }],
    },
    false,
  ],
] as const)("a rollout that is %s", (_, kind, spec, status, complete) => {
  expect(rolloutOf(kind, workload(spec, status)).complete).toBe(complete);
});

test.each([
  ["scale", { kind: "deployment", name: "x", replicas: 1 }],
  ["rollout-restart", { kind: "daemonset", name: "x" }],
  ["rollout-status", { kind: "statefulset", name: "x" }],
  ["describe", { kind: "pod", name: "x" }],
  ["logs", { pod: "x" }],
  ["restart-pod", { pod: "x" }],
  ["delete-pod", { pod: "x" }],
])("%s says what is not there", async (name, params) => {
  const on = cluster();
  await expect(perform(name, params, on)).rejects.toThrow(/there is no \w+ x in shop/);
  expect(on.changes()).toEqual([]);
});

const node = (name: string, unschedulable?: boolean): KubeObject => {
  const made = object("Node", name, { spec: { ...(unschedulable !== undefined && { unschedulable }) } });
  return { ...made, metadata: { ...made.metadata, namespace: undefined } };
};

test.each([
  ["cordon-node", undefined, true, ["patch nodes"]],
  ["cordon-node", true, true, []],
  ["uncordon-node", true, false, ["patch nodes"]],
  ["uncordon-node", undefined, false, []],
] as const)("%s of a node that is %s leaves it %s", async (name, before, unschedulable, changes) => {
  const on = cluster([resources.nodes, node("node-1", before)], [resources.nodes, node("node-2")]);
  const done = await perform(name, { name: "node-1" }, on);
  expect(done).toMatchObject({ name: "node-1", unschedulable, changed: changes.length > 0 });
  expect(on.changes()).toEqual(changes);
  expect(on.peek(resources.nodes, "node-2")).toMatchObject({ spec: {} });
  expect(on.calls.every((call) => call.name === "node-1" && call.namespace === undefined)).toBe(true);
});

test("a node that is not there is not cordoned, and one that is uncordoned at once is told", async () => {
  const params = { name: "node-1" };
  await expect(perform("cordon-node", params, cluster())).rejects.toThrow("there is no node node-1");
  const on = cluster([resources.nodes, node("node-1")]);
  on.fault = ({ verb }, when) => {
    if (verb === "patch" && when === "after") on.put(resources.nodes, node("node-1"));
  };
  await expect(perform("cordon-node", params, on)).rejects.toThrow("something else has uncordoned node node-1 since");
});
