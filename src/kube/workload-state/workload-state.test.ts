import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuMs } from "../../base/testing/cpu-time.ts";
import { runs } from "../../base/testing/runs.ts";
import {
  cronJobShape,
  jobShape,
  persistentVolumeClaimShape,
  podDisruptionBudgetShape,
} from "../projection/batch-shapes.ts";
import { Interner } from "../projection/interner.ts";
import {
  daemonSetShape,
  deploymentShape,
  type Pod,
  podShape,
  replicaSetShape,
  statefulSetShape,
} from "../projection/shapes.ts";
import { cronJobState } from "./cron-job.ts";
import { daemonSetState } from "./daemon-set.ts";
import { deploymentState } from "./deployment.ts";
import { jobState } from "./job.ts";
import { joined, MAX_MESSAGE, plainName } from "./message.ts";
import { persistentVolumeClaimState } from "./persistent-volume-claim.ts";
import { podState } from "./pod.ts";
import { podDisruptionBudgetState } from "./pod-disruption-budget.ts";
import { type PodsView, STUCK_REASONS, stuckOf } from "./pods.ts";
import { replicaSetState } from "./replica-set.ts";
import { observePod } from "./restarts.ts";
import { stateOf, type WorkloadState } from "./state.ts";
import { statefulSetState } from "./stateful-set.ts";
import { HEALTHS, LIFECYCLES } from "./words.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const strings = new Interner();
const ago = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();
const MINUTE = 60_000;

const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "\u001b[31mred\u001b[0m",
    "\ud800",
    "\udfff lone",
    "\u0000",
    "\u202eesrever",
    "a\nb",
    "__proto__",
    "CrashLoopBackOff",
    "x".repeat(10_000),
  ),
);
const time = fc.oneof(
  fc.integer({ min: 0, max: 90 * MINUTE }).map(ago),
  fc.constantFrom("", "never", "2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z"),
);
const count = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom(-1, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER));
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const reason = fc.oneof(hostile, fc.constantFrom(...STUCK_REASONS, "Error", "Completed", "ProgressDeadlineExceeded"));
const condition = fc.record({
  type: fc.constantFrom(
    "Progressing",
    "ReplicaFailure",
    "Available",
    "Ready",
    "PodScheduled",
    "Complete",
    "Failed",
    "x",
  ),
  status: fc.constantFrom("True", "False", "Unknown", ""),
  reason: maybe(fc.oneof(reason, fc.constantFrom("NewReplicaSetAvailable", "Unschedulable"))),
  message: maybe(hostile),
  lastTransitionTime: maybe(time),
  lastUpdateTime: maybe(time),
});
const conditions = fc.array(condition, { maxLength: 4 });
const metadata = fc.record({
  name: hostile,
  namespace: maybe(hostile),
  uid: fc.constantFrom("u1", "u2"),
  generation: count,
  creationTimestamp: time,
  deletionTimestamp: maybe(time),
  labels: maybe(fc.dictionary(fc.constantFrom("controller-revision-hash", "app"), fc.constantFrom("r1", "r2"))),
  annotations: maybe(fc.dictionary(fc.constantFrom("deployment.kubernetes.io/revision", "note"), hostile)),
  ownerReferences: fc.array(fc.record({ kind: hostile, name: hostile, uid: fc.constantFrom("u1", "u2") }), {
    maxLength: 2,
  }),
});
const ended = fc.record({ exitCode: count, reason: maybe(reason), finishedAt: maybe(time) });
const containerState = fc.record({
  waiting: maybe(fc.record({ reason: maybe(reason), message: maybe(hostile) })),
  terminated: maybe(ended),
});
const container = fc.record({
  name: fc.oneof(hostile, fc.constant("main")),
  ready: fc.boolean(),
  restartCount: count,
  state: maybe(containerState),
  lastState: maybe(containerState),
});
const podObject = fc.record({
  metadata,
  spec: fc.record({ readinessGates: fc.array(fc.record({ conditionType: hostile }), { maxLength: 2 }) }),
  status: maybe(
    fc.record({
      phase: fc.constantFrom("Pending", "Running", "Succeeded", "Failed", "", "Other"),
      reason: maybe(reason),
      conditions,
      containerStatuses: fc.array(container, { maxLength: 3 }),
      initContainerStatuses: fc.array(container, { maxLength: 2 }),
    }),
  ),
});
const spec = fc.record({
  replicas: maybe(count),
  paused: fc.boolean(),
  suspend: fc.boolean(),
  backoffLimit: maybe(count),
  progressDeadlineSeconds: maybe(count),
  updateStrategy: maybe(
    fc.record({
      type: fc.constantFrom("RollingUpdate", "OnDelete", "x"),
      rollingUpdate: maybe(fc.record({ partition: maybe(count) })),
    }),
  ),
});
const COUNTS = [
  "observedGeneration",
  "replicas",
  "updatedReplicas",
  "readyReplicas",
  "availableReplicas",
  "currentReplicas",
  "desiredNumberScheduled",
  "currentNumberScheduled",
  "updatedNumberScheduled",
  "numberReady",
  "numberMisscheduled",
  "succeeded",
  "failed",
  "disruptionsAllowed",
  "currentHealthy",
  "desiredHealthy",
  "expectedPods",
] as const;
const counts = fc.record(Object.fromEntries(COUNTS.map((name) => [name, maybe(count)])));
const status = fc
  .tuple(
    counts,
    fc.record({
      conditions,
      phase: fc.oneof(hostile, fc.constantFrom("Bound", "Lost", "Pending")),
      startTime: maybe(time),
      lastSuccessfulTime: maybe(time),
      currentRevision: fc.constantFrom("r1", "r2"),
      updateRevision: fc.constantFrom("r1", "r2"),
    }),
  )
  .map(([numbers, others]) => ({ ...numbers, ...others }));
const object = fc.record({ metadata, spec, status: maybe(status) });
type Given = { readonly metadata: { readonly name: string } };

const KINDS: Readonly<Record<string, (given: Given, view: PodsView, others: readonly Given[]) => WorkloadState>> = {
  Deployment: (given, view, others) =>
    deploymentState(deploymentShape.fromJson(given, strings), {
      ...view,
      replicaSets: others.map((each) => replicaSetShape.fromJson(each, strings)),
    }),
  ReplicaSet: (given, view) => replicaSetState(replicaSetShape.fromJson(given, strings), view),
  StatefulSet: (given, view) => statefulSetState(statefulSetShape.fromJson(given, strings), view),
  DaemonSet: (given, view) => daemonSetState(daemonSetShape.fromJson(given, strings), view),
  Job: (given, view) => jobState(jobShape.fromJson(given, strings), view),
  CronJob: (given, view, others) =>
    cronJobState(cronJobShape.fromJson(given, strings), {
      now: view.now,
      jobs: others.map((each) => jobShape.fromJson(each, strings)),
    }),
  PersistentVolumeClaim: (given) => persistentVolumeClaimState(persistentVolumeClaimShape.fromJson(given, strings)),
  PodDisruptionBudget: (given) => podDisruptionBudgetState(podDisruptionBudgetShape.fromJson(given, strings)),
};
/** What holds of each state of each object. */
function expectBounded({ lifecycle, health, message = "" }: WorkloadState): void {
  expect(LIFECYCLES).toContain(lifecycle);
  expect(HEALTHS).toContain(health);
  expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
  expect(message).toMatch(/^[A-Za-z0-9 .,:;()/?…-]*$/);
}

const toPod = (given: object): Pod => podShape.fromJson(given, strings);
const view = fc.record({ pods: maybe(fc.array(podObject, { maxLength: 4 })) });

describe.each(Object.entries(KINDS))("the state of a %s", (_, stateOfKind) => {
  test("is of closed words and one short line, whatever the server says", () => {
    fc.assert(
      fc.property(object, view, fc.array(object, { maxLength: 3 }), (given, { pods }, others) => {
        const all = pods?.map(toPod);
        const before = (): ReturnType<typeof observePod> | undefined =>
          all?.[0] === undefined ? undefined : observePod(all[0], new Date(NOW.getTime() - MINUTE));
        expectBounded(stateOfKind(given, { now: NOW, before, ...(all !== undefined && { pods: all }) }, others));
      }),
      { numRuns: runs(300) },
    );
  });
});

test("the state of a Pod is of closed words and one short line, whatever the server says", () => {
  fc.assert(
    fc.property(podObject, (given) => expectBounded(podState(toPod(given), { now: NOW }))),
    { numRuns: runs(300) },
  );
});

describe("a workload of nothing", () => {
  const nothing = object.map((given) => ({
    ...given,
    spec: { ...given.spec, replicas: 0 },
    status: { ...given.status, observedGeneration: 1, desiredNumberScheduled: 0 },
  }));
  test.each(["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])("is healthy: %s", (kind) => {
    fc.assert(
      fc.property(nothing, fc.array(podObject, { maxLength: 3 }), (given, pods) => {
        expect(KINDS[kind]?.(given, { now: NOW, pods: pods.map(toPod) }, []).health).toBe("healthy");
      }),
      { numRuns: runs(200) },
    );
  });
});

describe("findings", () => {
  const finding = fc.record({ health: fc.constantFrom(...HEALTHS), text: fc.constantFrom("a", "bb", "ccc") });

  test("add up to the worst of them, and it is told first", () => {
    fc.assert(
      fc.property(fc.array(finding, { maxLength: 6 }), (findings) => {
        const { health, message = "" } = stateOf("running", findings);
        const worst = HEALTHS.find((word) => findings.some((each) => each.health === word));
        expect(health).toBe(worst ?? "healthy");
        if (findings.length > 0)
          expect(findings.filter((each) => each.health === worst).map(({ text }) => text)).toContain(
            message.split("; ")[0],
          );
      }),
    );
  });
});

describe("a message", () => {
  test("names as many parts as fit, and counts the rest", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 }), (lengths) => {
        const text = joined(lengths.map((length) => "x".repeat(length)));
        expect(text.length).toBeLessThanOrEqual(MAX_MESSAGE);
        const rest = / and (\d+) more$/.exec(text)?.[1] ?? "0";
        const named = text === "" ? 0 : text.split("; ").length - (rest === "0" ? 0 : 1);
        if (!text.endsWith("…")) expect(named + Number(rest)).toBe(lengths.length);
      }),
    );
  });

  test("cuts a name of ten megabytes without reading it all", () => {
    const startedAt = cpuMs();
    expect(plainName("\u001b".repeat(10_000_000))).toBe(`${"?".repeat(79)}…`);
    expect(cpuMs() - startedAt).toBeLessThan(100);
  });
});

describe("a Pod", () => {
  const pod = (fields: { readonly metadata?: object; readonly status?: object }): Pod =>
    toPod({
      metadata: { name: "api-0", uid: "u", creationTimestamp: ago(60 * MINUTE), ...fields.metadata },
      status: { phase: "Running", ...fields.status },
    });
  const lastEnd = (ms: number) => ({
    containerStatuses: [
      {
        name: "main",
        ready: true,
        restartCount: 2,
        state: { running: {} },
        lastState: { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: ago(ms) } },
      },
    ],
  });
  const evicted = (ms: number) => ({
    phase: "Failed",
    reason: "Evicted",
    conditions: [{ type: "DisruptionTarget", status: "True", lastTransitionTime: ago(ms) }],
  });
  const waits = (name: string, why: string) => ({ name, state: { waiting: { reason: why } } });

  test.each<[string, Parameters<typeof pod>[0], string | undefined]>([
    ["out of memory ten minutes ago", { status: lastEnd(10 * MINUTE) }, "OOMKilled"],
    ["out of memory before that", { status: lastEnd(10 * MINUTE + 1_000) }, undefined],
    ["evicted ten minutes ago", { status: evicted(10 * MINUTE) }, "Evicted"],
    ["evicted before that, and replaced", { status: evicted(10 * MINUTE + 1_000) }, undefined],
    ["evicted at a time that is not told", { status: { phase: "Failed", reason: "Evicted" } }, "Evicted"],
    ["being deleted", { metadata: { deletionTimestamp: ago(MINUTE) } }, undefined],
    ["a minute past its deletion", { metadata: { deletionTimestamp: ago(MINUTE + 1_000) } }, "Terminating"],
    [
      "crashing while it is being deleted",
      {
        metadata: { deletionTimestamp: ago(0) },
        status: { containerStatuses: [waits("main", "CrashLoopBackOff")] },
      },
      undefined,
    ],
    ["done", { status: { phase: "Succeeded", containerStatuses: [waits("main", "CrashLoopBackOff")] } }, undefined],
    ["starting", { status: { containerStatuses: [waits("main", "ContainerCreating")] } }, undefined],
    [
      "without the image of its first container",
      { status: { initContainerStatuses: [waits("first", "ErrImagePull")] } },
      "ErrImagePull",
    ],
    [
      "with two faults: the worse",
      { status: { containerStatuses: [waits("a", "ErrImagePull"), waits("b", "CrashLoopBackOff")] } },
      "CrashLoopBackOff",
    ],
    [
      "held by a scheduling gate",
      { status: { conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] } },
      undefined,
    ],
  ])("%s", (_, fields, expected) => {
    expect(stuckOf(pod(fields), NOW)?.reason).toBe(expected);
  });
});

describe("restarts", () => {
  const withRestarts = (restartCount: number, name = "main"): Pod =>
    toPod({
      metadata: { name: "api-0", uid: "u" },
      status: { phase: "Running", containerStatuses: [{ name, restartCount }] },
    });
  const healthWith = (before: number, now: number, ms: number, name = "main") => {
    const earlier = observePod(withRestarts(before, name), new Date(NOW.getTime() - ms));
    const given = {
      metadata: { name: "api", generation: 1, creationTimestamp: ago(60 * MINUTE) },
      spec: { replicas: 1 },
      status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1 },
    };
    return deploymentState(deploymentShape.fromJson(given, strings), {
      now: NOW,
      pods: [withRestarts(now)],
      before: () => earlier,
    });
  };

  test.each<[string, number, number, number, string]>([
    ["of a counter that is high and stands still", 900, 900, 5 * MINUTE, "healthy"],
    ["two in ten minutes", 4, 6, 10 * MINUTE, "healthy"],
    ["three in ten minutes", 4, 7, 10 * MINUTE, "degraded"],
    ["three in a minute", 4, 7, MINUTE, "degraded"],
    ["three in eleven minutes", 4, 7, 11 * MINUTE, "healthy"],
    ["six in twenty minutes", 4, 10, 20 * MINUTE, "degraded"],
    ["of a counter that began again", 10, 1, 5 * MINUTE, "healthy"],
    ["between two looks at one time", 4, 9, 0, "healthy"],
  ])("%s", (_, before, now, ms, health) => {
    expect(healthWith(before, now, ms).health).toBe(health);
  });

  test("are told with their number and time", () => {
    expect(healthWith(4, 7, 5 * MINUTE).message).toBe("api-0: 3 restarts in 300 s");
    expect(healthWith(0, 14, 200).message).toBe("api-0: 14 restarts in 1 s");
  });

  test("of one container are not those of another", () => {
    expect(healthWith(9, 2, MINUTE, "other").health).toBe("healthy");
  });
});
