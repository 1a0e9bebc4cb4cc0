import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { budget, drain, NODE, node, type PodWish, pod, requested, SYSTEM } from "../testing/drain-fixtures.ts";
import { DrainTwin } from "../testing/drain-twin.ts";
import type { DrainRules } from "./rules.ts";
import type { DrainPod } from "./shapes.ts";

const approved: MachineDrain["status"] = {
  conditions: [
    { type: "Approved", status: "True", reason: "PolicyAuto", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
};

const wishes: fc.Arbitrary<PodWish> = fc.record(
  {
    namespace: fc.constantFrom("shop", "jobs", "kube-system", SYSTEM),
    owner: fc.constantFrom<PodWish["owner"]>(
      ["ReplicaSet", "api-6d4f"],
      ["DaemonSet", "logs"],
      ["StatefulSet", "db"],
      null,
    ),
    isMirror: fc.boolean(),
    emptyDir: fc.boolean(),
    graceSeconds: fc.constantFrom(0, 1, 5, 33),
    priority: fc.constantFrom(0, 100, 2_000_000_000),
    phase: fc.constantFrom("Running", "Pending", "Succeeded", "Failed"),
    isReady: fc.boolean(),
    labels: fc.constantFrom<Readonly<Record<string, string>>>(
      { app: "api" },
      { app: "web" },
      { keep: "yes", app: "api" },
      {},
    ),
    finalizers: fc.constantFrom<readonly string[]>([], ["example.com/hold"]),
  },
  { requiredKeys: [] },
);
const podsOf = fc.array(wishes, { maxLength: 12 }).map((all) => all.map((wish, index) => pod(`p${index}`, wish)));
const budgetsOf = fc.uniqueArray(
  fc.record({ name: fc.constantFrom("one", "two"), allowed: fc.nat(2), app: fc.constantFrom("api", "web") }),
  { maxLength: 2, selector: ({ name }) => name },
);
const rulesOf: fc.Arbitrary<Partial<DrainRules>> = fc.record({
  allowForce: fc.boolean(),
  deleteEmptyDir: fc.boolean(),
  defaultDeadlineMs: fc.constantFrom(0, 10_000, 3_600_000),
  skip: fc.constantFrom([], [[{ key: "keep", operator: "In", values: ["yes"] }]]),
});
interface Wish {
  readonly force: boolean;
  readonly deadlineAt?: string;
  readonly remove: boolean;
  readonly cordoned: boolean;
}
const wishOf: fc.Arbitrary<Wish> = fc
  .record({ force: fc.boolean(), deadline: fc.option(fc.nat(60)), remove: fc.boolean(), cordoned: fc.boolean() })
  .map(({ deadline, ...rest }) => ({
    ...rest,
    ...(deadline !== null && { deadlineAt: new Date(Date.UTC(2026, 0, 1, 0, 0, deadline)).toISOString() }),
  }));

interface World {
  readonly pods: readonly DrainPod[];
  readonly budgets: readonly { readonly name: string; readonly allowed: number; readonly app: string }[];
  readonly rules: Partial<DrainRules>;
  readonly wish: Wish;
}
const worlds: fc.Arbitrary<World> = fc.record({ pods: podsOf, budgets: budgetsOf, rules: rulesOf, wish: wishOf });

function twinOf({ pods, budgets, rules, wish }: World): DrainTwin {
  const { force, deadlineAt, remove, cordoned } = wish;
  const spec = { ...requested({ remove }), force, ...(deadlineAt !== undefined && { deadlineAt }) };
  return new DrainTwin({
    ...{ nodes: [node(NODE, { cordoned })], pods, rules },
    budgets: budgets.map(({ name, ...each }) => budget(name, each)),
    drains: [drain("one", spec, { status: approved })],
  });
}

/** Long enough for every pod that can leave, and for the pauses after a crash. */
const ROUNDS = 160;

/** Said again in other words than the code's, so that a slip in one of the two shows. */
function mayEvict({ metadata, status, spec }: DrainPod, { rules, wish }: World): boolean {
  const controllers = metadata.ownerReferences.map(({ kind }) => kind);
  if (controllers.includes("DaemonSet") || Object.keys(metadata.annotations).length > 0) return false;
  if ((rules.skip?.length ?? 0) > 0 && metadata.labels.keep === "yes") return false;
  if (["Succeeded", "Failed"].includes(status.phase)) return false;
  if (controllers.length === 0 && !(wish.force && rules.allowForce === true)) return false;
  return !(spec.volumes && rules.deleteEmptyDir === false);
}

test("a drain never evicts or deletes what it must leave, and deletes only by force, after its deadline", async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const twin = twinOf(world);
      for (let round = 0; round < ROUNDS; round += 1) {
        const deadline = twin.status("one").deadlineAt;
        const before = twin.effects.length;
        await twin.round();
        for (const effect of twin.effects.slice(before)) {
          const [verb, name = "", grace = ""] = effect.split(" ");
          if ((verb !== "evict" && verb !== "delete") || name === "node") continue;
          const asked = world.pods.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === name);
          expect(asked && mayEvict(asked, world), effect).toBe(true);
          if (verb === "evict") continue;
          expect([world.wish.force, world.rules.allowForce], effect).toEqual([true, true]);
          expect(["shop", "jobs"], effect).toContain(asked?.metadata.namespace);
          expect(Number.parseInt(grace, 10), effect).toBeGreaterThanOrEqual(1);
          expect(Number.parseInt(grace, 10), effect).toBeLessThanOrEqual(30);
          expect(Date.parse(deadline ?? "9999"), effect).toBeLessThanOrEqual(twin.clock.wallNow().getTime());
        }
      }
    }),
    { numRuns: runs(120) },
  );
});

test("wherever the process ends between two effects, the next one ends in the same place", async () => {
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.nat(),
      fc.constantFrom("before" as const, "after" as const),
      async (world, at, when) => {
        const whole = twinOf(world);
        // Twelve of our own pods go one after the other, each with its grace.
        await whole.rounds(ROUNDS, 3_000);
        const cut = twinOf(world);
        cut.crash = { at: at % Math.max(whole.effects.length, 1), when };
        await cut.rounds(ROUNDS + 10, 3_000);
        expect(cut.crashes).toBe(whole.effects.length === 0 ? 0 : 1);
        expect(cut.fingerprint()).toEqual(whole.fingerprint());
      },
    ),
    { numRuns: runs(150) },
  );
});

test("deadlines only come nearer, whatever is asked for and whatever the pool says meanwhile", async () => {
  const edits = fc.array(fc.record({ spec: fc.option(fc.nat(7_200)), pool: fc.option(fc.nat(7_200)) }), {
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(edits, async (all) => {
      const twin = new DrainTwin({ nodes: [node()], pods: [pod("p", { owner: null })], drains: [drain("one")] });
      let last = "9999";
      for (const { spec, pool } of all) {
        const stored = twin.drain("one");
        if (spec !== null) {
          const deadlineAt = new Date(Date.UTC(2026, 0, 1, 0, 0, spec)).toISOString();
          twin.drains.set("sallyport-grants/one", { ...stored, spec: { ...stored.spec, deadlineAt } });
        }
        if (pool !== null) twin.rules = { ...twin.rules, defaultDeadlineMs: pool * 1_000 };
        // The twin refuses a status whose deadline is later than before.
        await twin.rounds(4);
        const { deadlineAt = "9999" } = twin.status("one");
        expect(deadlineAt <= last).toBe(true);
        last = deadlineAt;
      }
    }),
    { numRuns: runs(100) },
  );
});

/** What people and the platform do, in any order, while the process works and is killed. */
type Deed =
  | { readonly do: "drain"; readonly name: string; readonly node: string; readonly byPlatform: boolean }
  | { readonly do: "delete" | "approve"; readonly name: string }
  | { readonly do: "work"; readonly rounds: number; readonly crashAt: number | null };
const names = fc.constantFrom("one", "two", "three");
const deeds: fc.Arbitrary<readonly Deed[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant("drain" as const),
      name: names,
      node: fc.constantFrom("m-1", "m-2"),
      byPlatform: fc.boolean(),
    }),
    fc.record({ do: fc.constantFrom("delete" as const, "approve" as const), name: names }),
    fc.record({ do: fc.constant("work" as const), rounds: fc.nat(6), crashAt: fc.option(fc.nat(4)) }),
  ),
  { maxLength: 25 },
);

test("in the end only our own cordons are undone, and all of them; one drain at a time acts on a node", async () => {
  await fc.assert(
    fc.asyncProperty(deeds, fc.boolean(), fc.nat(2), async (all, isFirstCordoned, parallel) => {
      const twin = new DrainTwin({
        nodes: [node("m-1", { cordoned: isFirstCordoned }), node("m-2")],
        pods: ["m-1", "m-2"].map((name) => pod(`on-${name}`, { node: name, owner: null })),
        rules: { maxParallel: parallel + 1 },
      });
      let made = 0;
      for (const deed of all) {
        const key = "name" in deed ? `sallyport-grants/${deed.name}` : "";
        const known = twin.drains.get(key);
        if (deed.do === "drain" && known === undefined) {
          made += 1;
          const spec = { nodeName: deed.node, ...(deed.byPlatform && requested()) };
          const object = drain(deed.name, spec, {
            createdAt: new Date(Date.UTC(2026, 0, 1, 0, 0, made)).toISOString(),
          });
          twin.drains.set(key, { ...object, metadata: { ...object.metadata, uid: `uid-${made}` } });
        } else if (deed.do === "delete") twin.drains.delete(key);
        else if (deed.do === "approve" && known?.spec.requested !== undefined) {
          const conditions = [
            ...(known.status?.conditions ?? []).filter(({ type }) => type !== "Approved"),
            ...(approved?.conditions ?? []),
          ];
          twin.drains.set(key, { ...known, status: { ...known.status, conditions } });
        } else if (deed.do === "work") {
          if (deed.crashAt !== null)
            twin.crash = { at: twin.effects.length + twin.crashes + deed.crashAt, when: "after" };
          await twin.rounds(deed.rounds);
        }
        const active = [...twin.drains.values()].filter(({ status }) =>
          ["Draining", "Blocked"].includes(status?.state ?? ""),
        );
        expect(new Set(active.map(({ spec }) => spec.nodeName)).size).toBe(active.length);
        expect(active.length).toBeLessThanOrEqual(parallel + 1);
      }
      twin.crash = undefined;
      twin.drains.clear();
      await twin.rounds(4);
      expect(twin.node("m-1").spec.unschedulable).toBe(isFirstCordoned);
      expect(twin.node("m-2").spec.unschedulable).toBe(false);
      expect([...twin.nodes.values()].map(({ metadata }) => metadata.annotations)).toEqual([{}, {}]);
    }),
    { numRuns: runs(200) },
  );
});
