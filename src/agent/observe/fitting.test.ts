import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { heartbeatFits, rowFits } from "../../contract/resources/fits.ts";
import { KUBERNETES_DATA, ObservedResource, ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { cronJobShape, jobShape, persistentVolumeClaimShape } from "../../kube/projection/batch-shapes.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { deploymentShape, podShape } from "../../kube/projection/shapes.ts";
import { Checker } from "../../platform/kernel/input/syntax.ts";
import { NO_LOOKUPS } from "../testing/no-lookups.ts";
import { ofCronJob, ofJob, ofPersistentVolumeClaim } from "./batch-workload.ts";
import { fitting } from "./fitting.ts";
import type { Observation } from "./ledger.ts";
import { observationOf } from "./observation.ts";
import { ofDeployment, ofPod, type Related, type Workload } from "./workload.ts";

const NOW = new Date("2026-01-01T12:00:00Z");
const strings = new Interner();

// The platform's own check of a request, which refuses it for one row.
const rows = new Checker("row", ObservedResource);
const heartbeats = new Checker("heartbeat", ResourceHeartbeat);
const data = new Map(Object.entries(KUBERNETES_DATA).map(([type, schema]) => [type, new Checker("data", schema)]));

function issuesOf({ row, heartbeat }: Observation): readonly unknown[] {
  const wire = heartbeat === undefined ? undefined : JSON.parse(JSON.stringify(heartbeat));
  return [
    ...rows.issues(JSON.parse(JSON.stringify(row))),
    ...(wire === undefined ? [] : heartbeats.issues(wire)),
    ...(wire === undefined ? [] : (data.get(wire.resourceType)?.issues(wire.data.data) ?? [])),
  ];
}

const told = (workload: Workload, related: Related = {}): Observation =>
  fitting(observationOf(workload, related, NOW, NO_LOOKUPS));

const long = fc
  .tuple(
    fc.constantFrom("€", "x", '"', "\\", "\u001b[31m", "\ud83d\ude00", "\ud800", "\0", "\u202e", "\n"),
    fc.nat(3_000),
  )
  .map(([sign, times]) => sign.repeat(times));
const wild = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 1, arbitrary: long },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "2026-02-31T00:00:00Z", "+012026-01-01T00:00:00Z"),
  },
);
const number = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom(2 ** 53, -(2 ** 31), 1.5));
const few = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 25 });
const metadata = fc.record({
  ...{ name: wild, namespace: fc.constantFrom("shop", "b"), uid: wild, resourceVersion: fc.constant("1") },
  ...{ generation: number, creationTimestamp: wild, deletionTimestamp: fc.option(wild, { nil: undefined }) },
  labels: fc.dictionary(wild, wild, { maxKeys: 40 }),
  ownerReferences: few(fc.record({ apiVersion: wild, kind: wild, name: wild, uid: wild })),
});
const condition = { type: wild, status: wild, reason: wild, message: wild, lastTransitionTime: wild };
const conditions = few(fc.record(condition, { requiredKeys: ["type", "status"] }));
const containers = few(fc.record({ name: wild, image: wild }));
const waiting = fc.record({ waiting: fc.record({ reason: wild, message: wild }) });
const terminated = fc.record({ terminated: fc.record({ reason: wild, exitCode: number, finishedAt: wild }) });
const state = fc.oneof(waiting, terminated);
const containerStatuses = few(fc.record({ name: wild, restartCount: number, state, lastState: state }));
const pod = fc.record({
  metadata,
  spec: fc.record({ nodeName: wild, containers }),
  status: fc.record({ phase: wild, podIP: wild, reason: wild, conditions, containerStatuses }),
});
const counts = fc.record({
  ...{ observedGeneration: number, replicas: number, readyReplicas: number },
  ...{ updatedReplicas: number, availableReplicas: number, conditions },
});
const template = fc.record({ spec: fc.record({ containers }) });
const deployment = fc.record({ metadata, spec: fc.record({ replicas: number, template }), status: counts });

test("whatever an object says, its row and its heartbeat are taken by the platform", () => {
  const jobStatus = fc.record({ active: number, failed: number, ready: number, startTime: wild, conditions });
  const job = fc.record({ metadata, spec: fc.record({ completions: number }), status: jobStatus });
  const cronStatus = fc.record({ lastScheduleTime: wild, lastSuccessfulTime: wild });
  const cronJob = fc.record({ metadata, spec: fc.record({ schedule: wild }), status: cronStatus });
  const claim = fc.record({ metadata, spec: fc.constant({}), status: fc.record({ phase: wild }) });
  const all = fc.oneof(
    fc.tuple(deployment, fc.array(pod, { maxLength: 3 })).map(([object, pods]) => {
      const related = { pods: pods.map((each) => podShape.fromJson(each, strings)) };
      return told(ofDeployment(deploymentShape.fromJson(object, strings)), related);
    }),
    pod.map((object) => {
      const read = podShape.fromJson(object, strings);
      return told(ofPod(read), { pods: [read] });
    }),
    job.map((object) => told(ofJob(jobShape.fromJson(object, strings)))),
    cronJob.map((object) => told(ofCronJob(cronJobShape.fromJson(object, strings)))),
    claim.map((object) => told(ofPersistentVolumeClaim(persistentVolumeClaimShape.fromJson(object, strings)))),
  );
  fc.assert(
    fc.property(all, (observation) => {
      expect(issuesOf(observation)).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

const image = (name: string): Observation => {
  const spec = { replicas: 1, template: { spec: { containers: [{ name: "c", image: name }] } } };
  const object = { metadata: { name: "api", namespace: "shop", uid: "u", generation: 1 }, spec, status: {} };
  return told(ofDeployment(deploymentShape.fromJson(object, strings)));
};

test("an image is cut by bytes and told without the password of its registry", () => {
  const cut = JSON.stringify(image("€".repeat(1_000)).row.attributes);
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1_050);
  expect(image("ann:canary@registry.example/app@sha256:00").row.attributes?.images).toEqual([
    "[redacted]@registry.example/app@sha256:00",
  ]);
  expect(image("registry.example/app@sha256:00").row.attributes?.images).toEqual(["registry.example/app@sha256:00"]);
});

test("no word of a condition has a secret or what a terminal obeys", () => {
  const words = { type: "Available", status: "TOKEN=canary", reason: "DB_PASSWORD=canary \u001b[31m" };
  const object = { metadata: { name: "api", namespace: "shop", uid: "u", generation: 1 }, spec: {} };
  const status = { conditions: [words] };
  const { heartbeat } = told(ofDeployment(deploymentShape.fromJson({ ...object, status }, strings)));
  expect(heartbeat?.data.data).toMatchObject({
    workload: { conditions: [{ status: "TOKEN=[redacted]", reason: "DB_PASSWORD=[redacted] [31m" }] },
  });
});

test("what does not fit is told with its name, its state and an issue", () => {
  const { row, heartbeat } = image("app");
  const far = { ...row, attributes: { note: "x".repeat(20_000) } };
  const pods = [{ name: "a", ready: true, restartCount: -1, ownerReferences: [] }];
  const beat = heartbeat && { ...heartbeat, data: { ...heartbeat.data, data: { ...heartbeat.data.data, pods } } };
  expect([rowFits(far), beat && heartbeatFits(beat)]).toEqual([false, false]);
  const least = fitting({ row: far, heartbeat: beat });
  expect(least.row).toMatchObject({ displayName: "api", health: row.health, partial: true });
  expect(least.row.collectionIssues).toMatchObject([{ reason: "collection-failed" }]);
  expect(least.heartbeat?.data.data.status.collectionIssues.at(-1)).toMatchObject({ reason: "collection-failed" });
  expect(issuesOf(least)).toEqual([]);
});
