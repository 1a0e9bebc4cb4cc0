import fc from "fast-check";
import { expect, it } from "vitest";
import type {
  ObservedInventoryBatch,
  ObservedResource,
  ResourceHeartbeat,
} from "../../../contract/resources/resource-heartbeat.ts";
import { digestOf, heartbeatHash, rowHash } from "../../../contract/resources/resource-level.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const NAMES = [..."abcdefgh"];
const SCOPES = ["kubernetes:Deployment:shop", "kubernetes:Deployment:bank"] as const;

/** What a cluster has: by name, what is said of it. Each name is a heartbeat, and a row in the list of its scope. */
type World = ReadonlyMap<string, number>;
const scopeOf = (name: string): string => SCOPES[name < "e" ? 0 : 1];

const step = fc.record({
  set: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), fc.nat(3)), { selector: ([name]) => name }),
  gone: fc.subarray(NAMES),
  /** How the one that sends deltas tells this step. */
  kind: fc.constantFrom("delta", "delta", "delta", "full"),
  /** Into how many calls a full report is split, and whether a report of before comes again after it. */
  parts: fc.integer({ min: 1, max: 3 }),
  late: fc.boolean(),
});

/** The heartbeat of the first step comes once more, after a full report that it was not in. */
const LATE_AFTER_FULL: (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[] = [
  { set: [["g", 0]], gone: [], kind: "delta", parts: 1, late: false },
  { set: [], gone: ["g"], kind: "full", parts: 1, late: true },
];

onEachDatabase("a deployment that is told by deltas, beside one that is told in full", (world) => {
  const heartbeat = (name: string, value: number, observedAt: string): ResourceHeartbeat => {
    const status = { health: "healthy", lifecycle: "running", partial: false, stale: false } as const;
    const data = { status: { ...status, collectionIssues: [], message: `m${value}` }, replicas: { ready: value } };
    return {
      ...{ resourceId: `h-${name}`, resourceType: "queue", controllerPlatform: "kubernetes", backend: "external" },
      ...{ observedAt, data: { resourceType: "queue", data: data as never }, raw: [] },
    };
  };
  const row = (name: string, value: number): ObservedResource => ({
    ...{ rawIdentity: `r-${name}`, providerKind: "Deployment", displayName: name, health: "healthy" },
    ...{ lifecycle: "running", partial: false, providerStale: false, message: `m${value}` },
  });
  const batch = (scope: string, names: World, observedAt: string, more: object): ObservedInventoryBatch => ({
    ...{ sourceKind: "operator", inventoryScope: scope, controllerPlatform: "kubernetes", backend: "kubernetes" },
    ...{ observedAt, complete: true },
    resources: [...names].filter(([name]) => scopeOf(name) === scope).map(([name, value]) => row(name, value)),
    ...more,
  });
  const level = (all: World, observedAt: string, full: boolean) => {
    const hashes = [...all].flatMap(([name, value]) => [
      heartbeatHash(heartbeat(name, value, observedAt)),
      rowHash({ sourceKind: "operator", inventoryScope: scopeOf(name) }, row(name, value)),
    ]);
    const digest = digestOf(hashes.reduce((sum, hash) => sum ^ hash, 0n));
    const counts = { heartbeats: all.size, rows: all.size, complete: true };
    return { observedAt, digest, ...counts, ...(full && { full: true }) };
  };
  const deltaOf = (changed: World, gone: readonly string[], all: World, observedAt: string) => ({
    resourceHeartbeats: [...changed].map(([name, value]) => heartbeat(name, value, observedAt)),
    removedHeartbeats: gone.map((name) => ({ resourceType: "queue", resourceId: `h-${name}` })),
    observedInventoryBatches: SCOPES.map((scope) => {
      const removed = gone.filter((name) => scopeOf(name) === scope).map((name) => `r-${name}`);
      return batch(scope, changed, observedAt, { mode: "delta", removed });
    }),
    resourceLevel: level(all, observedAt, false),
  });
  /** Everything, in `count` calls: each has a part of every list, and the last one the level. */
  const fullOf = (all: World, observedAt: string, count: number): readonly object[] =>
    Array.from({ length: count }, (_, index) => {
      const here = new Map([...all].filter((_each, at) => at % count === index));
      return {
        resourceHeartbeats: [...here].map(([name, value]) => heartbeat(name, value, observedAt)),
        observedInventoryBatches: SCOPES.map((scope) => batch(scope, here, observedAt, { part: { index, count } })),
        ...(index === count - 1 && { resourceLevel: level(all, observedAt, true) }),
      };
    });
  const send = async (site: Site, id: string, bodies: readonly object[]): Promise<void> => {
    for (const [index, body] of bodies.entries()) {
      const answer = await site.report(id, "pending", body);
      expect([answer.status, answer.body.code]).toEqual([200, undefined]);
      if (index === bodies.length - 1) expect(answer.body.resendResources).toBeUndefined();
    }
  };
  const shown = async (site: Site, deploymentId: string): Promise<readonly string[]> => {
    const { body } = await site.call("GET", "/v1/resources", { query: { deploymentId } });
    const rows: readonly { source: string; resourceId: string; message: string; readyCount: number | null }[] =
      body.resources;
    return rows
      .map(({ source, resourceId, message, readyCount }) => [source, resourceId, message, readyCount].join(" "))
      .toSorted();
  };

  it("both show the same after each step, which is what the cluster has", async () => {
    const site = await newSite(world, 200);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        runs += 1;
        const [byDelta, inFull] = [await site.deploy(`delta-${runs}`), await site.deploy(`full-${runs}`)];
        const all = new Map<string, number>();
        let before: object | undefined;
        for (const { set, gone, kind, parts, late } of steps) {
          world.clock.advance(1_000);
          const observedAt = world.clock.wallNow().toISOString();
          const removed = gone.filter((name) => all.delete(name));
          for (const [name, value] of set) all.set(name, value);
          const delta = deltaOf(new Map(set), removed, all, observedAt);
          await send(site, byDelta, kind === "delta" ? [delta] : fullOf(all, observedAt, parts));
          await send(site, inFull, fullOf(all, observedAt, parts));
          if (late && before !== undefined) await site.report(byDelta, "pending", before);
          const { resourceLevel: _, removedHeartbeats: __, ...told } = delta;
          before = told;
          const wanted = [...all].flatMap(([name, value]) => [
            `managed h-${name} m${value} ${value}`,
            `observed r-${name} m${value} `,
          ]);
          expect(await shown(site, byDelta)).toEqual(wanted.toSorted());
          expect(await shown(site, inFull)).toEqual(wanted.toSorted());
        }
      }),
      { numRuns: 12, examples: [[LATE_AFTER_FULL]] },
    );
  });
});
