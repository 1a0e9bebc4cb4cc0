import { describe, expect, test } from "vitest";
import { Interner } from "../../../../kube/projection/interner.ts";
import { type Pod, podShape } from "../../../../kube/projection/shapes.ts";
import type { LiveObject } from "../release-api.ts";
import { type Watched, waveHealth } from "./gate.ts";

const STARTED = new Date("2026-01-01T12:00:00Z");
const UNTIL = new Date("2026-01-01T14:00:00Z");
/** So many seconds after the wave began; before it with a minus. */
const secondsIn = (seconds: number): Date => new Date(STARTED.getTime() + seconds * 1_000);
const time = (seconds: number): string => secondsIn(seconds).toISOString();
const look = (watched: readonly Watched[], seconds: number, until = UNTIL) =>
  waveHealth(watched, STARTED, until, secondsIn(seconds));

const NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu";
const UNPLACED = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: `${NO_ROOM}. more` };

interface PodOptions {
  readonly hash?: string;
  readonly createdAt?: number;
  readonly readyAt?: number;
  readonly stuck?: string;
  readonly isGoing?: boolean;
  /** It fits on no node, since it was made. */
  readonly isUnplaced?: boolean;
}

function pod({ hash = "new", createdAt = 0, readyAt, stuck, isGoing, isUnplaced }: PodOptions = {}): Pod {
  const ready = { type: "Ready", status: readyAt === undefined ? "False" : "True" };
  const container = { name: "c", state: stuck === undefined ? {} : { waiting: { reason: stuck, message: "why" } } };
  const object = {
    metadata: {
      ...{ name: `api-${hash}-1`, uid: `${hash}-${createdAt}`, creationTimestamp: time(createdAt) },
      labels: { "pod-template-hash": hash },
      ...(isGoing && { deletionTimestamp: time(3_000) }),
    },
    status: {
      phase: "Running",
      conditions: [
        { ...ready, lastTransitionTime: time(readyAt ?? createdAt) },
        ...(isUnplaced ? [{ ...UNPLACED, lastTransitionTime: time(createdAt) }] : []),
      ],
      containerStatuses: [container],
    },
  };
  return podShape.fromJson(object, new Interner(4));
}

function deployment(status: object, pods: readonly Pod[], spec: object = {}, generation = 1): Watched {
  const live = {
    ...{ apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 1, progressDeadlineSeconds: 600, ...spec } },
    metadata: {
      name: "api",
      namespace: "shop",
      uid: "u",
      resourceVersion: "1",
      generation,
      creationTimestamp: time(-900),
    },
    status: { observedGeneration: 1, ...status },
  } as LiveObject;
  return { ref: "Deployment.apps/shop/api", resourceId: "api", kind: "Deployment.apps", live, pods };
}

const UP = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
const COMING = { replicas: 2, updatedReplicas: 1, readyReplicas: 0 };
const stopped = (at: number, reason = "ProgressDeadlineExceeded"): object => ({
  conditions: [
    { type: "Progressing", status: "False", reason, lastUpdateTime: time(at), lastTransitionTime: time(at) },
  ],
});

const progressed = (at: number): object => ({
  conditions: [
    {
      type: "Progressing",
      status: "True",
      reason: "ReplicaSetUpdated",
      lastUpdateTime: time(at),
      lastTransitionTime: time(0),
    },
  ],
});

describe("a wave of a Deployment", () => {
  test.each<[string, Watched, number, string, number | undefined]>([
    ["that has long been up", deployment(UP, [pod({ readyAt: -60 })]), 0, "healthy", 0],
    ["ready for nine seconds", deployment(UP, [pod({ readyAt: 1 })]), 10, "waiting", 1_000],
    ["ready for ten seconds", deployment(UP, [pod({ readyAt: 1 })]), 11, "healthy", 0],
    ["whose pod of before goes", deployment(UP, [pod({ readyAt: 1 }), pod({ isGoing: true })]), 11, "healthy", 0],
    ["ready by its status of before", deployment(UP, [pod({ readyAt: -60 })], {}, 2), 60, "waiting", 5_000],
    ["of no replicas", deployment({}, [], { replicas: 0 }), 0, "healthy", 0],
    ["whose pods are not seen", deployment(UP, []), 9, "waiting", 1_000],
    ["stuck for a minute", deployment(COMING, [pod({ stuck: "CrashLoopBackOff" })]), 60, "waiting", 5_000],
    ["stuck for two minutes", deployment(COMING, [pod({ stuck: "CrashLoopBackOff" })]), 120, "failed", 0],
    ["stuck before the wave", deployment(COMING, [pod({ createdAt: -600, stuck: "ErrImagePull" })]), 5, "waiting", 500],
    [
      "whose template of before is stuck",
      deployment(COMING, [pod({ hash: "old", createdAt: -600, stuck: "CrashLoopBackOff" }), pod()]),
      ...([300, "waiting", 5_000] as const),
    ],
    ["of its own deadline", deployment({ ...COMING, ...stopped(1) }, []), 1, "failed", 0],
    ["of the deadline before the change", deployment({ ...COMING, ...stopped(-300) }, [], {}, 2), 1, "waiting", 250],
    // The controller has seen the change, and judges it at its next sync.
    ["of the deadline of before", deployment({ ...COMING, ...stopped(0) }, []), 659, "waiting", 1_000],
    ["at the end, of the deadline of before", deployment({ ...COMING, ...stopped(0) }, []), 660, "failed", 0],
    ["up, of the deadline of before", deployment({ ...UP, ...stopped(-300) }, [pod({ readyAt: 1 })]), 11, "healthy", 0],
    ["without a ReplicaSet", deployment({ ...COMING, ...stopped(1, "ReplicaSetCreateError") }, []), 1, "failed", 0],
    // Set between the apply and the beginning of the wave, or before both.
    ["long so", deployment({ ...COMING, ...stopped(0, "ReplicaSetCreateError") }, []), 119, "waiting", 5_000],
    ["for good", deployment({ ...COMING, ...stopped(0, "ReplicaSetCreateError") }, []), 120, "failed", 0],
    ["a second before the deadline", deployment(COMING, [pod()]), 659, "waiting", 1_000],
    ["at the deadline", deployment(COMING, [pod()]), 660, "failed", 0],
    [
      "ready and not yet available",
      deployment({ ...UP, availableReplicas: 0 }, [pod({ readyAt: 1 })], { minReadySeconds: 90 }),
      ...([80, "waiting", 5_000] as const),
    ],
    ["available", deployment(UP, [pod({ readyAt: 1 })], { minReadySeconds: 90 }), 92, "healthy", 0],
    ["paused", deployment({}, [], { paused: true }), 10, "healthy", 0],
    [
      "paused, with a pod of before that crashes",
      deployment(COMING, [pod({ stuck: "Error" })], { paused: true }),
      125,
      "healthy",
      0,
    ],
    ["that comes up pod by pod", deployment({ ...COMING, ...progressed(600) }, [pod()]), 1_259, "waiting", 1_000],
    ["that has stopped coming up", deployment({ ...COMING, ...progressed(600) }, [pod()]), 1_260, "failed", 0],
    [
      "without a deadline",
      deployment(COMING, [pod()], { progressDeadlineSeconds: 2_147_483_647 }),
      3_599,
      "waiting",
      1_000,
    ],
    [
      "an hour without a deadline",
      deployment(COMING, [pod()], { progressDeadlineSeconds: 2_147_483_647 }),
      3_600,
      "failed",
      0,
    ],
  ])("%s", (_, watched, seconds, verdict, againMs) => {
    expect(look([watched], seconds)).toMatchObject({ verdict, againMs });
  });

  test("fails with what is wrong, and how the container says it, which its resource says, too", () => {
    const { message, resources } = look([deployment(COMING, [pod({ stuck: "ImagePullBackOff" })])], 125);
    expect(message).toMatch(/^Deployment\.apps\/shop\/api: 0 of 1 ready; api-new-1: ImagePullBackOff.*: why$/);
    const text = message?.replace("Deployment.apps/shop/api: ", "");
    expect(resources).toEqual([{ resourceId: "api", state: "failed", health: "unhealthy", message: text }]);
  });

  test("that is late has each failed that has not come up, and no other", () => {
    const web = { ...deployment(COMING, [pod()]), ref: "Deployment.apps/shop/web", resourceId: "web" };
    const { message, resources } = look([deployment(UP, [pod({ readyAt: 1 })]), web], 660);
    expect(message).toMatch(/^Deployment\.apps\/shop\/web: not healthy after 660 s: /);
    expect(resources).toMatchObject([
      { resourceId: "api", state: "running", health: "healthy" },
      { resourceId: "web", state: "failed", message: expect.stringMatching(/^not healthy after 660 s: /) },
    ]);
  });

  test("whose deadline was over before shows as being updated, not as failed", () => {
    const { resources } = look([deployment({ ...COMING, ...stopped(-1) }, [])], 5);
    expect(resources).toMatchObject([{ resourceId: "api", state: "updating" }]);
  });

  test("ends with the rollout", () => {
    expect(look([deployment(COMING, [pod()])], 60, secondsIn(61)).againMs).toBe(1_000);
    expect(look([deployment(COMING, [pod()])], 61, secondsIn(61)).verdict).toBe("failed");
  });
});

function other(kind: string, spec: object, status: object): Watched {
  const metadata = {
    name: "w",
    namespace: "shop",
    uid: "u",
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: time(0),
  };
  const [name = "", group] = kind.split(".");
  const live = { apiVersion: `${group}/v1`, kind: name, metadata, spec, status: { observedGeneration: 1, ...status } };
  return { ref: `${kind}/shop/w`, resourceId: "w", kind, live: live as LiveObject, pods: [] };
}

test.each<[string, Watched, number]>([
  ["a Job without a limit", other("Job.batch", {}, { startTime: time(0), active: 1 }), 600],
  ["a Job by its own", other("Job.batch", { activeDeadlineSeconds: 1_800 }, { startTime: time(0), active: 1 }), 1_860],
  [
    "a StatefulSet whose pods become available one by one",
    other(
      "StatefulSet.apps",
      { replicas: 3, minReadySeconds: 200 },
      { replicas: 3, readyReplicas: 3, availableReplicas: 1 },
    ),
    1_200,
  ],
  [
    "a DaemonSet, the same",
    other("DaemonSet.apps", { minReadySeconds: 100 }, { desiredNumberScheduled: 2, currentNumberScheduled: 2 }),
    800,
  ],
])("%s has its time", (_, watched, seconds) => {
  expect([look([watched], seconds - 1).verdict, look([watched], seconds).verdict]).toEqual(["waiting", "failed"]);
});

test("a Job with a limit an index does not tell the number that the API server has filled in for the whole", () => {
  const spec = { backoffLimit: 2_147_483_647, backoffLimitPerIndex: 1 };
  const watched = other("Job.batch", spec, { startTime: time(0), active: 1, failed: 1 });
  expect(look([watched], 60).resources).toMatchObject([{ message: "1 failure, at most 1 an index" }]);
});

test("a resource of the stack is as its worst object is, and is told once", () => {
  const settings: Watched = {
    ref: "ConfigMap/shop/a",
    resourceId: "api",
    kind: "ConfigMap",
    live: undefined,
    pods: [],
  };
  const up = deployment(UP, [pod({ readyAt: -60 })]);
  expect(look([up, settings], 0).resources).toEqual([
    { resourceId: "api", state: "pending", health: "unknown", message: "" },
  ]);
  const there = { ...settings, live: { metadata: {} } as LiveObject };
  expect(look([there, deployment(COMING, [])], 0).resources).toMatchObject([{ resourceId: "api", state: "updating" }]);
});

test("what the rollout has left alone is told, and does not hold its wave up", () => {
  const broken = { ...deployment({ ...COMING, ...stopped(-300) }, [pod({ stuck: "CrashLoopBackOff" })]) };
  const left = { ...broken, resourceId: "db", isLeftAlone: true };
  const found = look([left, deployment(UP, [pod({ readyAt: 1 })])], 150);
  expect(found).toMatchObject({ verdict: "healthy", resources: [{ resourceId: "db", state: "updating" }, {}] });
  expect(look([broken], 150).verdict).toBe("failed");
});

test("a wave that waits says which pod fits on no node; what is left alone, up, or of the template before does not", () => {
  const unplaced = pod({ isUnplaced: true });
  const needOf = (...watched: readonly Watched[]) => look(watched, 60).needsNodes;
  const waiting = deployment(COMING, [unplaced]);
  expect(needOf(waiting)).toBe(`Deployment.apps/shop/api: api-new-1: ${NO_ROOM}`);
  expect(needOf(deployment(COMING, [pod()]))).toBeUndefined();
  expect(needOf({ ...waiting, isLeftAlone: true }, deployment(COMING, [pod()]))).toBeUndefined();
  const old = pod({ hash: "old", createdAt: -600, isUnplaced: true });
  expect(needOf(deployment(COMING, [old, pod()]))).toBeUndefined();
  const ending = pod({ hash: "old", createdAt: -600, isGoing: true });
  expect(needOf(deployment(COMING, [ending, unplaced]))).toBeUndefined();
  expect(look([waiting], 660)).not.toHaveProperty("needsNodes");
});
