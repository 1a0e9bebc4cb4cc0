import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../base/log.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { settle } from "../base/testing/settle.ts";
import { contentDigest } from "../crds/content-digest.ts";
import type { ReleaseContent, ReleaseObject } from "../crds/kinds/release-content.ts";
import type { Rollout, RolloutState, RolloutStatus } from "../crds/kinds/rollout.ts";
import { kubeMetrics } from "../kube/metrics/kube-metrics.ts";
import { keyOf } from "../kube/objects/resource.ts";
import { FakeInformer } from "../kube/testing/fake-informer.ts";
import type { OperatorParts } from "./operator-parts.ts";
import { rolloutParts } from "./rollout-controller.ts";

const OBJECT: ReleaseObject = {
  ...{ wave: 0, frozen: false, resourceId: "web" },
  manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "shop" } },
};
const AT = "2026-01-01T10:00:00Z";

function rollout(name: string, state: RolloutState): Rollout {
  const until = state === "Gating" ? { until: "2026-01-01T12:00:00Z", wave: 0, waveStartedAt: AT } : {};
  return {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "Rollout" },
    metadata: { name, namespace: "grants", uid: `uid-${name}`, resourceVersion: "1", creationTimestamp: AT },
    spec: {
      ...{ rolloutId: name, deploymentId: `dep_${name}`, action: "install", requestedAt: AT },
      ...{ deadline: "2026-01-08T10:00:00Z", contentName: `rel-${name}`, contentDigest: contentDigest([OBJECT]) },
    },
    status: { state, startedAt: AT, ...until },
  };
}

class World {
  readonly clock = new FakeClock(AT);
  /** Names of contents that were asked of the API server. */
  readonly read: string[] = [];
  readonly compared: string[] = [];
  gates = 0;
  readonly #rollouts: readonly Rollout[];

  constructor(rollouts: readonly Rollout[]) {
    this.#rollouts = rollouts;
  }

  /** Runs both controllers until the test ends. */
  async start(): Promise<void> {
    const made = rolloutParts(this.#parts());
    const stop = new AbortController();
    const ended = (made?.controllers ?? []).map((each) => each.run(stop.signal));
    onTestFinished(async () => {
      stop.abort();
      await Promise.all(ended);
    });
    await settle();
  }

  #parts(): OperatorParts {
    const informer = <T extends object>(kind: string, objects: readonly T[]) => {
      const fake = new FakeInformer(kind);
      fake.sync();
      const store = {
        values: () => objects,
        list: () => objects,
        get: (key: string) => objects.find((each) => keyOf(each as Rollout) === key),
      };
      return Object.assign(fake, { store });
    };
    const notifier = { name: "admission", onChange: () => undefined, whenSynced: async () => undefined };
    const rollouts = informer("Rollout", this.#rollouts);
    const surroundings = {
      rollouts: this.#rollouts,
      policies: [],
      deployments: [{ spec: { deploymentId: "dep_gated" } }],
    };
    const parts = {
      ...{ clock: this.clock, serverClock: this.clock, log: silentLogger, kube: kubeMetrics(new Registry()) },
      client: {
        get: async (_: unknown, { name }: { name: string }) => {
          this.read.push(name);
          return {
            spec: { deploymentId: name.replace("rel-", "dep_"), objects: [OBJECT] },
          } as unknown as ReleaseContent;
        },
        patch: async (_: unknown, { name }: { name: string }, { body }: { body: { status: RolloutStatus } }) => {
          const before = this.#rollouts.find(({ metadata }) => metadata.name === name);
          if (body.status.conditions?.some(({ type }) => type === "Compared")) this.compared.push(name);
          return { ...before, status: { ...before?.status, ...body.status } };
        },
        exchange: { json: async () => ({ resources: [] }) },
      },
      caches: {
        ...{ rollouts, contents: informer("ReleaseContent", []), policies: informer("OperationPolicy", []) },
        deployments: informer("ManagedDeployment", []),
        openRolloutKeys: () => ["grants/gated"],
        rolloutsOf: (id: string) => this.#rollouts.filter(({ spec }) => spec.deploymentId === id),
        acceptedOf: () => ["shop"],
        rolloutSurroundings: () => surroundings,
        liveRolloutSurroundings: async () => surroundings,
        rolloutPlaces: () => ["shop"],
      },
      admission: { ...notifier, obstacleOf: () => undefined },
      rights: { obstacle: undefined, missingForReleases: undefined, watch: notifier, releaseWatch: undefined },
      metrics: { redacted: () => undefined },
      rolloutMetrics: { phase: () => undefined, ended: () => undefined },
      publisher: { rolloutBecame: () => undefined },
      fence: () => undefined,
      version: "1",
      config: {
        ...{ grantsNamespace: "grants", roleKind: "Role", workers: 1, lendingMode: "operator", releasesSecrets: false },
        deployments: new Map([["dep_gated", ["shop"]]]),
      },
      rolloutHands: {
        health: async () => {
          this.gates += 1;
          return { verdict: "waiting", againMs: 5_000, resources: [] };
        },
      },
    };
    return parts as unknown as OperatorParts;
  }
}

test("looks at many deployments push no content out that a gate asks for again", async () => {
  const others = ["a", "b", "c", "d", "e"];
  const world = new World([rollout("gated", "Gating"), ...others.map((name) => rollout(name, "Succeeded"))]);
  await world.start();
  expect([world.gates, world.compared.toSorted()]).toEqual([1, others]);
  world.clock.advance(5_000);
  await settle();
  expect(world.gates).toBe(2);
  expect(world.read.toSorted()).toEqual([...others, "gated"].map((name) => `rel-${name}`));
});
