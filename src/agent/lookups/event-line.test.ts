import Type from "typebox";
import { Errors } from "typebox/value";
import { expect, test } from "vitest";
import { KUBERNETES_DATA } from "../../contract/resources/resource-heartbeat.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type Event, eventShape } from "../../kube/projection/shapes.ts";
import { eventLines } from "./event-line.ts";

const event = (uid: string, fields: object = {}): Event =>
  eventShape.fromJson(
    {
      metadata: { name: uid, uid, creationTimestamp: "2026-01-01T11:00:00Z" },
      reportingController: "kubelet",
      reason: "Failed",
      type: "Warning",
      regarding: { kind: "Pod", name: "web-1", uid: "p" },
      ...fields,
    },
    new Interner(),
  );

test.each<readonly [string, object, object]>([
  [
    "of a kubelet, counted up",
    {
      deprecatedFirstTimestamp: "2026-01-01T10:00:00Z",
      deprecatedLastTimestamp: "2026-01-01T11:30:00Z",
      deprecatedCount: 14,
    },
    {
      ...{ reason: "Failed", message: "", type: "Warning", count: 14, eventTime: null, source: "kubelet" },
      ...{ firstTimestamp: "2026-01-01T10:00:00.000Z", lastTimestamp: "2026-01-01T11:30:00.000Z" },
      involvedObject: { kind: "Pod", name: "web-1" },
    },
  ],
  [
    "of a series",
    { eventTime: "2026-01-01T11:00:00.000001Z", series: { count: 3, lastObservedTime: "2026-01-01T11:40:00.000000Z" } },
    { count: 3, eventTime: "2026-01-01T11:00:00.000Z", lastTimestamp: "2026-01-01T11:40:00.000Z" },
  ],
  [
    "seen once",
    { eventTime: "2026-01-01T11:00:00.000000Z" },
    { count: 1, firstTimestamp: "2026-01-01T11:00:00.000Z", lastTimestamp: "2026-01-01T11:00:00.000Z" },
  ],
  ["with a time that is none", { eventTime: "soon" }, { eventTime: null, lastTimestamp: null }],
  ["with a secret", { note: "refused: DB_PASSWORD=canary" }, { message: "refused: DB_PASSWORD=[redacted]" }],
  [
    "for a terminal",
    { note: "\u001b[31mred\u0000\u202e", reason: "A\u001b[0m" },
    { message: "[31mred", reason: "A[0m" },
  ],
  ["with half a character", { note: "a\ud800" }, { message: "a\ufffd" }],
  [
    "with a long text whose secret lies across the cut",
    { note: `${"x".repeat(1_015)} password=canary-canary-canary` },
    { message: `${"x".repeat(1_015)} passwor…` },
  ],
])("an event %s", (_, fields, told) => {
  const [line] = eventLines([event("e", fields)]);
  expect(line).toMatchObject(told);
});

test("of many events the newest twenty are told, each once, as the contract takes them", () => {
  const all = Array.from({ length: 40 }, (_, index) =>
    event(`e-${index}`, { deprecatedLastTimestamp: `2026-01-01T11:00:${String(index + 10)}Z`, note: `${index}` }),
  );
  const lines = eventLines([...all, ...all]);
  expect(lines.map(({ message }) => message)).toEqual(Array.from({ length: 20 }, (_, index) => `${39 - index}`));
  const status = { health: "unhealthy", lifecycle: "failed", partial: false, stale: false, collectionIssues: [] };
  const data = {
    ...{ status, backend: "kubernetes", workloadKind: "pod", namespace: "shop", name: "a", replicas: {} },
  };
  const whole = { ...data, pods: [], events: lines };
  expect([...Errors(KUBERNETES_DATA.container ?? Type.Never(), whole)]).toEqual([]);
});
