import fc from "fast-check";
import { expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import { objectState } from "../../../src/operator/rollouts/hands/health/object-state.ts";
import type { LiveObject } from "../../../src/operator/rollouts/hands/release-api.ts";
import { namespace } from "../../world/installation.ts";

// kubectl is given the same statuses, on an API server without controllers: what it waits for, a wave waits for too.

const cluster = useCluster();
const AT_ONCE = Math.max(40, runs(400));

interface Counts {
  readonly desired: number;
  readonly replicas: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  readonly minReadySeconds: number;
  readonly isSeen: boolean;
  readonly partition: number;
  readonly isNewest: boolean;
}

/** As an API server takes them: nothing is more than what there is. */
const counts: fc.Arbitrary<Counts> = fc
  .record({
    ...{ desired: fc.nat(3), replicas: fc.nat(3), updated: fc.nat(3), ready: fc.nat(3), available: fc.nat(3) },
    ...{ minReadySeconds: fc.constantFrom(0, 0, 30), isSeen: fc.nat(7), partition: fc.constantFrom(0, 0, 1, 2) },
    isNewest: fc.boolean(),
  })
  .map(({ isSeen, ...each }) => {
    const ready = Math.min(each.ready, each.replicas);
    // Pods of the newest revision are counted as updated.
    const updated = each.isNewest ? each.replicas : Math.min(each.updated, each.replicas);
    return { ...each, updated, ready, available: Math.min(each.available, ready), isSeen: isSeen > 0 };
  });

interface Judged {
  readonly kind: "Deployment" | "StatefulSet" | "DaemonSet";
  /** What the set's kind has beside replicas, selector and template. */
  readonly spec: (counts: Counts) => object;
  readonly status: (counts: Counts, observedGeneration: number) => object;
}

const KINDS: readonly Judged[] = [
  {
    kind: "Deployment",
    spec: ({ desired, minReadySeconds }) => ({ replicas: desired, minReadySeconds }),
    status: ({ replicas, updated, ready, available }, observedGeneration) => ({
      ...{ observedGeneration, replicas, updatedReplicas: updated, readyReplicas: ready, availableReplicas: available },
    }),
  },
  {
    kind: "StatefulSet",
    spec: ({ desired, minReadySeconds, partition }) => ({
      ...{ replicas: desired, minReadySeconds, serviceName: "none" },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } },
    }),
    status: ({ replicas, updated, ready, available, isNewest }, observedGeneration) => ({
      ...{ observedGeneration, replicas, updatedReplicas: updated, readyReplicas: ready, availableReplicas: available },
      ...{ updateRevision: "b", currentRevision: isNewest ? "b" : "a", currentReplicas: 0 },
    }),
  },
  {
    kind: "DaemonSet",
    spec: ({ minReadySeconds }) => ({ minReadySeconds }),
    status: ({ desired, replicas, updated, ready, available }, observedGeneration) => ({
      ...{
        observedGeneration,
        desiredNumberScheduled: desired,
        currentNumberScheduled: replicas,
        numberMisscheduled: 0,
      },
      ...{ updatedNumberScheduled: updated, numberReady: ready, numberAvailable: available },
    }),
  },
];

test.each(KINDS)(
  "nothing of kind $kind is up before kubectl rollout status is done",
  async ({ kind, spec, status }) => {
    const place = `judged-${kind.toLowerCase()}`;
    await cluster().apply([namespace(place)]);
    const path = `/apis/apps/v1/namespaces/${place}/${kind.toLowerCase()}s`;
    const samples = fc.sample(counts, AT_ONCE);
    const objects: LiveObject[] = [];
    for (const [index, each] of samples.entries()) {
      const labels = { app: `w${index}` };
      const pod = { metadata: { labels }, spec: { containers: [{ name: "c", image: "registry.example/app:1" }] } };
      const made = await cluster().request({
        ...{ method: "POST", path },
        body: {
          ...{ apiVersion: "apps/v1", kind, metadata: { name: `w${index}` } },
          spec: { ...spec(each), selector: { matchLabels: labels }, template: pod },
        },
      });
      expect(made).toMatchObject({ status: 201 });
      const written = await cluster().request({
        ...{ method: "PATCH", path: `${path}/w${index}/status`, contentType: "application/merge-patch+json" },
        body: { status: status(each, each.isSeen ? 1 : 0) },
      });
      expect(written).toMatchObject({ status: 200 });
      objects.push(written.body as LiveObject);
    }
    const names = objects.map(({ metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
    const { stdout } = await cluster().kubectl(["rollout", "status", "-n", place, "--watch=false", ...names]);
    const lines = stdout.trim().split("\n");
    expect(lines).toHaveLength(objects.length);
    const moment = { now: new Date(), waveStartedAt: new Date() };
    const seen = objects.map((live, index) => ({
      counts: samples[index],
      kubectl: /successfully rolled out|partitioned roll out complete/.test(lines[index] ?? ""),
      line: lines[index],
      ours: objectState(`${kind}.apps`, live, [], moment).isSettled,
    }));
    expect(seen.filter(({ ours, kubectl }) => ours && !kubectl)).toEqual([]);
    expect(seen.filter(({ kubectl }) => kubectl).length).toBeGreaterThan(0);
    // Where a wave waits for longer, pods are still to go, or those of a set to be available.
    const longer = seen.filter(({ ours, kubectl, counts }) => kubectl && !ours && !isOnItsWay(counts));
    expect(longer).toEqual([]);
  },
);

function isOnItsWay(seen: Counts | undefined): boolean {
  return seen !== undefined && (seen.replicas > seen.desired || seen.available < seen.desired);
}
