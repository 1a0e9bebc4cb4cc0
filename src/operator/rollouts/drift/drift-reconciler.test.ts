import { expect, test } from "vitest";
import { silentLogger } from "../../../base/log.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Drift, Rollout, RolloutState, RolloutStatus } from "../../../crds/kinds/rollout.ts";
import type { MemberLook } from "./drift.ts";
import { type DriftPorts, driftKeys, reconcileDrift } from "./drift-reconciler.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const at = (minute: number) => `2026-01-01T10:${String(minute).padStart(2, "0")}:00Z`;
const line = (kind: string, name: string, more: Partial<ReleaseObject> = {}): ReleaseObject => ({
  ...{ wave: 0, frozen: false, resourceId: name },
  manifest: { apiVersion: "v1", kind, metadata: { name, namespace: "shop" }, data: { key: "value" } },
  ...more,
});
const WEB = line("ConfigMap", "web");
const REF = "ConfigMap/shop/web";
const own = { manager: "sallyport-release", operation: "Apply", apiVersion: "v1" };
const intact: MemberLook = { managedFields: [{ ...own, fieldsV1: { "f:data": { "f:key": {} } } }] };
const edited: MemberLook = {
  managedFields: [
    { ...own, fieldsV1: { "f:metadata": {} } },
    { manager: "their-editor", apiVersion: "v1", fieldsV1: { "f:data": { "f:key": {} } } },
  ],
};
const CHANGED: Drift = { ref: REF, field: ".data.key", manager: "their-editor" };

function rollout(name: string, state: RolloutState, minute: number, more: RolloutStatus = {}): Rollout {
  const action = "update";
  const times = { requestedAt: at(0), deadline: at(59) };
  const spec = {
    rolloutId: name,
    deploymentId: "dep_1",
    action,
    ...times,
    contentName: `rel-${name}`,
    contentDigest: DIGEST,
  };
  const metadata = { name, namespace: "grants", uid: name, resourceVersion: "1", creationTimestamp: at(0) };
  return {
    apiVersion: "v1",
    kind: "Rollout",
    metadata,
    spec,
    status: { state, startedAt: at(minute), ...more },
  } as Rollout;
}

class World {
  rollouts: Rollout[] = [rollout("one", "Succeeded", 1)];
  objects: readonly ReleaseObject[] = [WEB];
  looks = new Map<string, MemberLook>([[REF, intact]]);
  accepted: readonly string[] | undefined = ["shop"];
  readonly asked: string[] = [];
  readonly written: (readonly [string, readonly Drift[] | undefined])[] = [];

  async look(name = "one"): Promise<number | undefined> {
    const ports: DriftPorts = {
      rollout: (key) => this.rollouts.find(({ metadata }) => key === `grants/${metadata.name}`),
      rolloutsOf: () => this.rollouts,
      accepted: () => this.accepted,
      objectsOf: async (content) => {
        this.asked.push(content.name);
        return this.objects;
      },
      looksAt: async (objects) => new Map([...this.looks].filter(() => objects.length > 0)),
      writeDrift: async ({ metadata }, drift) => {
        this.written.push([metadata.name, drift]);
        const { drift: _, ...status } =
          this.rollouts.find((each) => each.metadata.name === metadata.name)?.status ?? {};
        this.rollouts = this.rollouts.map((each) =>
          each.metadata.name === metadata.name ? { ...each, status: { ...status, ...(drift && { drift }) } } : each,
        );
      },
      fence: () => undefined,
      redact: (text) => text.replaceAll("hunter2", "[redacted]"),
    };
    const context = { signal: new AbortController().signal, log: silentLogger } as never;
    return (await reconcileDrift(`grants/${name}`, ports, context))?.requeueAfterMs;
  }
}

test("what others change is said once, is looked at sooner, and goes when it is gone", async () => {
  const world = new World();
  expect(await world.look()).toBe(600_000);
  expect(world.written).toEqual([]);
  world.looks.set(REF, edited);
  expect(await world.look()).toBe(60_000);
  expect(await world.look()).toBe(60_000);
  expect(world.written).toEqual([["one", [CHANGED]]]);
  world.looks.set(REF, intact);
  expect(await world.look()).toBe(600_000);
  expect(world.written.at(-1)).toEqual(["one", undefined]);
});

test.each<[string, (world: World) => void, readonly Drift[]]>([
  ["an object that was deleted", ({ looks }) => looks.set(REF, "missing"), [{ ref: REF }]],
  ["no object that may not be read", ({ looks }) => looks.set(REF, "unreadable"), []],
  [
    "no Job that has done its work",
    (world) => {
      const { manifest } = line("Job", "migrate");
      world.objects = [{ ...line("Job", "migrate"), manifest: { ...manifest, apiVersion: "batch/v1" } }];
      world.looks = new Map([["Job.batch/shop/migrate", "missing"]]);
    },
    [],
  ],
  [
    "no field that the rollout has given way to",
    (world) => {
      const plan = { create: 0, change: 0, prune: 0, unchanged: 0, overrides: [{ ...CHANGED, field: ".data.key" }] };
      world.rollouts = [rollout("one", "Succeeded", 1, { plan } as RolloutStatus)];
      world.looks.set(REF, edited);
    },
    [],
  ],
  [
    "no field of a frozen object, but that it is gone",
    (world) => {
      world.objects = [{ ...WEB, frozen: true }, line("ConfigMap", "old", { frozen: true })];
      world.looks = new Map<string, MemberLook>([
        [REF, edited],
        ["ConfigMap/shop/old", "missing"],
      ]);
    },
    [{ ref: "ConfigMap/shop/old" }],
  ],
  [
    "nothing where the deployment is not accepted any more",
    (world) => {
      world.accepted = [];
      world.looks.set(REF, "missing");
    },
    [],
  ],
  [
    "no secret that stands in a name",
    ({ looks }) => {
      const [first] = (edited as { managedFields: readonly object[] }).managedFields;
      const other = { manager: "hunter2", apiVersion: "v1", fieldsV1: { "f:data": { "f:key": {} } } };
      looks.set(REF, { managedFields: [first ?? {}, other] } as MemberLook);
    },
    [{ ...CHANGED, manager: "[redacted]" }],
  ],
])("tells %s", async (_, happens, drift) => {
  const world = new World();
  happens(world);
  await world.look();
  expect(world.written).toEqual(drift.length === 0 ? [] : [["one", drift]]);
});

test("at most fifty lines are told", async () => {
  const world = new World();
  world.objects = Array.from({ length: 80 }, (_, index) => line("ConfigMap", `c${index}`));
  world.looks = new Map(world.objects.map(({ manifest }) => [`ConfigMap/shop/${manifest.metadata.name}`, "missing"]));
  await world.look();
  expect(world.written[0]?.[1]).toHaveLength(50);
});

test("nothing is compared while another rollout changes the objects, and an older one says nothing any more", async () => {
  const world = new World();
  world.rollouts = [rollout("one", "Succeeded", 1, { drift: [CHANGED] }), rollout("two", "Gating", 2)];
  world.looks.set(REF, "missing");
  expect(await world.look()).toBeUndefined();
  expect(world.asked).toEqual([]);
  world.rollouts = [rollout("one", "Succeeded", 1, { drift: [CHANGED] }), rollout("two", "Succeeded", 2)];
  expect(driftKeys(world.rollouts)).toEqual(["grants/one", "grants/two"]);
  expect(await world.look("one")).toBeUndefined();
  expect(await world.look("two")).toBe(60_000);
  expect(world.written).toEqual([
    ["one", undefined],
    ["two", [{ ref: REF }]],
  ]);
  expect(world.asked).toEqual(["rel-two"]);
});

test("after a way back the former content counts; after a failure without one nothing does", async () => {
  const world = new World();
  const back = { rolledBackTo: "rel-one", formerDigest: DIGEST };
  world.rollouts = [rollout("one", "Succeeded", 1), rollout("two", "RolledBack", 2, back)];
  await world.look("two");
  expect(world.asked).toEqual(["rel-one"]);
  world.rollouts = [rollout("one", "Succeeded", 1), rollout("two", "Failed", 2)];
  expect(driftKeys(world.rollouts)).toEqual([]);
});
