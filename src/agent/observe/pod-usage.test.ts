import fc from "fast-check";
import { expect, test } from "vitest";
import type { ResourceHeartbeat, ResourceStatus } from "../../contract/resources/resource-heartbeat.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type Pod, podShape } from "../../kube/projection/shapes.ts";
import { usageOfAll, usageOfPod } from "../lookups/pod-usage.ts";
import type { NamespaceUsage } from "../lookups/usage-lookup.ts";
import { Ledger } from "./ledger.ts";

const MADE = "2026-01-01T10:00:00Z";
const AT = "2026-01-01T12:00:00Z";
const pod = (name: string, phase = "Running"): Pod =>
  podShape.fromJson({ metadata: { name, uid: name, creationTimestamp: MADE }, status: { phase } }, new Interner());
const usage = (all: Readonly<Record<string, readonly [number | undefined, number | undefined, string?]>>) =>
  ({
    pods: new Map(Object.entries(all).map(([name, [cores, bytes, at = AT]]) => [name, { cores, bytes, at }])),
  }) satisfies NamespaceUsage;

test.each<readonly [string, readonly Pod[], NamespaceUsage, object]>([
  [
    "that were all measured",
    [pod("a"), pod("b")],
    usage({ a: [0.1, 10], b: [0.2, 20, "2026-01-01T11:59:00Z"] }),
    {
      cpu: { value: 0.3, unit: "cores" },
      memory: { value: 30, unit: "bytes" },
      usageObservedAt: "2026-01-01T11:59:00Z",
    },
  ],
  ["of which one was not measured", [pod("a"), pod("b")], usage({ a: [0.1, 10] }), { usageObservedAt: AT }],
  [
    "of which one has ended",
    [pod("a"), pod("b", "Succeeded")],
    usage({ a: [0.1, 10] }),
    { cpu: { value: 0.1, unit: "cores" }, memory: { value: 10, unit: "bytes" }, usageObservedAt: AT },
  ],
  [
    "of which one has no cpu",
    [pod("a"), pod("b")],
    usage({ a: [0.1, 10], b: [undefined, 5] }),
    { memory: { value: 15, unit: "bytes" }, usageObservedAt: AT },
  ],
  [
    "that use nothing",
    [pod("a")],
    usage({ a: [0, 0] }),
    { cpu: { value: 0 }, memory: { value: 0 }, usageObservedAt: AT },
  ],
  ["none of which was measured", [pod("a")], usage({}), {}],
  ["that have the name of one before", [pod("a")], usage({ a: [1, 1, "2026-01-01T09:00:00Z"] }), {}],
])("pods %s", (_, pods, known, told) => {
  const found = usageOfAll(pods, known);
  expect(found).toMatchObject(told);
  expect(Object.keys(found)).toEqual(Object.keys(told));
});

test("a pod that was not measured has no usage, which is not 0", () => {
  expect(usageOfPod(pod("a"), usage({}))).toEqual({});
  expect(usageOfPod(pod("a", "Succeeded"), usage({ a: [1, 1] }))).toEqual({});
  expect(usageOfPod(pod("a"), usage({ a: [0, undefined] }))).toEqual({ cpu: { value: 0, unit: "cores" } });
});

const heartbeat = (ready: number, cores: number | undefined): ResourceHeartbeat => {
  const status = {
    health: "healthy",
    lifecycle: "running",
    partial: false,
    stale: false,
    collectionIssues: [],
  } satisfies ResourceStatus;
  const known = usage(cores === undefined ? {} : { a: [cores, 1] });
  const pods = [{ name: "a", ...usageOfPod(pod("a"), known) }];
  const data = { status, replicas: { ready }, pods, ...usageOfAll([pod("a")], known) };
  return {
    ...{ resourceId: "deployment.shop.a", resourceType: "container", controllerPlatform: "kubernetes" },
    ...{ backend: "kubernetes", observedAt: AT, data: { resourceType: "container", data }, raw: [] },
  };
};

test("use alone is no news: a heartbeat waits to be told when something else changed, or use came or went", () => {
  const step = fc.record({
    ready: fc.integer({ min: 0, max: 2 }),
    cores: fc.option(fc.double({ min: 0, max: 9, noNaN: true }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
      const ledger = new Ledger<string>();
      ledger.scope("all", true);
      let before: string | undefined;
      for (const { ready, cores } of steps) {
        const told = heartbeat(ready, cores);
        ledger.observe("all", "a", {
          row: {
            ...{ rawIdentity: "a", providerKind: "Deployment", displayName: "a", health: "healthy" },
            ...{ lifecycle: "running", partial: false, providerStale: false },
          },
          heartbeat: told,
        });
        const waiting = ledger.pending().filter((each) => each.is === "heartbeat");
        const now = `${ready} ${cores !== undefined}`;
        expect(waiting.length).toBe(now === before ? 0 : 1);
        // What waits has the newest use.
        if (waiting.length > 0) expect(waiting[0]).toMatchObject({ heartbeat: told });
        ledger.sending(waiting);
        ledger.acknowledge(ledger.pending(), []);
        before = now;
      }
    }),
  );
});
