import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import type {
  ObservedInventoryBatch,
  ObservedResource,
  ResourceHeartbeat,
} from "../../../contract/resources/resource-heartbeat.ts";
import { digestOf, heartbeatHash, rowHash } from "../../../contract/resources/resource-level.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

// A cluster with two lists, a reporter that restarts with some of them unread, and the platform. What is shown of a list
// that is read is the cluster's; what is shown of another stays as it was, and gets no fresher.

const LISTS = [0, 1] as const;
const NAMES = ["a", "b"] as const;
const FRESH_MS = 180_000;

type Step =
  | { readonly is: "restart"; readonly unread: readonly number[] }
  | { readonly is: "regain"; readonly list: number }
  | { readonly is: "make" | "delete"; readonly list: number; readonly name: string };

const list = fc.constantFrom(...LISTS);
const steps = fc.array(
  fc.oneof(
    fc.record({ is: fc.constant("restart" as const), unread: fc.uniqueArray(list, { minLength: 1, maxLength: 2 }) }),
    fc.record({ is: fc.constant("regain" as const), list }),
    fc.record({ is: fc.constantFrom("make" as const, "delete" as const), list, name: fc.constantFrom(...NAMES) }),
  ),
  { minLength: 4, maxLength: 12 },
);

const scopeOf = (at: number) =>
  ({ sourceKind: "operator", inventoryScope: `kubernetes:apps/v1:Deployment:n${at}` }) as const;

class Reporter {
  readonly cluster = LISTS.map(() => new Set<string>());
  /** What the platform should show of each list. */
  readonly shown = LISTS.map(() => new Set<string>());
  unread: ReadonlySet<number> = new Set();
  /** What this process has told, and so counts in its level. */
  readonly #heartbeats = new Map<string, ResourceHeartbeat>();
  readonly #site: Site;
  readonly #deployment: string;
  readonly #now: () => string;

  constructor(site: Site, deployment: string, now: () => string) {
    this.#site = site;
    this.#deployment = deployment;
    this.#now = now;
  }

  async do(step: Step): Promise<void> {
    if (step.is === "restart") return this.#restart(new Set(step.unread));
    if (step.is === "regain") {
      this.unread = new Set([...this.unread].filter((each) => each !== step.list));
      return this.#tell([step.list], false);
    }
    if (step.is === "make") this.cluster[step.list]?.add(step.name);
    else this.cluster[step.list]?.delete(step.name);
    return this.#tell(this.unread.has(step.list) ? [] : [step.list], false);
  }

  #restart(unread: ReadonlySet<number>): Promise<void> {
    this.unread = unread;
    this.#heartbeats.clear();
    return this.#tell(LISTS, true);
  }

  async #tell(lists: readonly number[], full: boolean): Promise<void> {
    const observedAt = this.#now();
    const told: ResourceHeartbeat[] = [];
    const removed: { resourceType: string; resourceId: string }[] = [];
    const batches: ObservedInventoryBatch[] = [];
    for (const at of lists) {
      const complete = !this.unread.has(at);
      const names = complete ? [...(this.cluster[at] ?? [])] : [];
      const ids = new Set(names.map((name) => `${at}-${name}`));
      if (complete) {
        this.shown[at] = new Set(ids);
        for (const id of this.#heartbeats.keys()) {
          if (!id.startsWith(`${at}-`) || ids.has(id)) continue;
          this.#heartbeats.delete(id);
          removed.push({ resourceType: "queue", resourceId: id });
        }
      }
      for (const id of ids) {
        const heartbeat = heartbeatOf(id, observedAt);
        this.#heartbeats.set(id, heartbeat);
        told.push(heartbeat);
      }
      batches.push({
        ...{ ...scopeOf(at), controllerPlatform: "kubernetes", backend: "kubernetes", observedAt, complete },
        resources: [...ids].map(rowOf),
      });
    }
    const rows = LISTS.filter((at) => !this.unread.has(at)).flatMap((at) =>
      [...(this.shown[at] ?? [])].map((id) => rowHash(scopeOf(at), rowOf(id))),
    );
    const hashes = [...[...this.#heartbeats.values()].map(heartbeatHash), ...rows];
    const answer = await this.#site.report(this.#deployment, "pending", {
      resourceHeartbeats: told,
      removedHeartbeats: removed,
      observedInventoryBatches: batches,
      resourceLevel: {
        ...{ observedAt, heartbeats: this.#heartbeats.size, rows: rows.length, complete: this.unread.size === 0 },
        ...(full && { full }),
        digest: digestOf(hashes.reduce((sum, hash) => sum ^ hash, 0n)),
      },
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.body.resendResources ?? false).toBe(false);
  }
}

function heartbeatOf(id: string, observedAt: string): ResourceHeartbeat {
  const status = { health: "healthy", lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
  return {
    ...{ resourceId: id, resourceType: "queue", controllerPlatform: "kubernetes", backend: "external" },
    ...{ observedAt, data: { resourceType: "queue", data: { status } as never }, raw: [] },
  };
}

const rowOf = (id: string): ObservedResource => ({
  ...{ rawIdentity: id, providerKind: "Deployment", displayName: id, health: "healthy", lifecycle: "running" },
  ...{ partial: false, providerStale: false, message: "", managedResourceId: id },
});

onEachDatabase("heartbeats of lists that cannot be read", (world) => {
  it("are those that were there, and no digest differs", { timeout: 120_000 }, async () => {
    const site = await newSite(world);
    let count = 0;
    const property = fc.asyncProperty(steps, async (all) => {
      count += 1;
      const id = await site.deploy(`shop-${count}`);
      const reporter = new Reporter(site, id, () => world.clock.wallNow().toISOString());
      // All that may be there is, at the beginning: what can go wrong begins with what is known.
      for (const names of reporter.cluster) for (const name of NAMES) names.add(name);
      for (const step of [{ is: "restart", unread: [] } as const, ...all]) {
        world.clock.advance(FRESH_MS + 10_000);
        await reporter.do(step);
        const { resources } = (await site.call("GET", "/v1/resources", { query: { deploymentId: id } })).body;
        const seen = resources.map(({ resourceId, source }: { resourceId: string; source: string }) => [
          resourceId,
          source,
        ]);
        const expected = reporter.shown.flatMap((ids) => [...ids].map((each) => [each, "managed"]));
        expect(seen.toSorted()).toEqual(expected.toSorted());
        for (const { resourceId, platformStale } of resources) {
          expect([resourceId, platformStale]).toEqual([resourceId, reporter.unread.has(Number(resourceId[0]))]);
        }
      }
    });
    await fc.assert(property, { numRuns: runs(20, FEWEST_WALKS) });
  });
});
