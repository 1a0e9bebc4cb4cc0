import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../base/log.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Drift, Rollout, RolloutState, RolloutStatus } from "../../../crds/kinds/rollout.ts";
import { toldOverride } from "../hands/planning/plan.ts";
import type { ReadContent } from "../machine/intent.ts";
import { statusAs } from "../machine/rollout-status.ts";
import { refOf } from "../release-rules.ts";
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
  problem: ReadContent["problem"];
  duringLook: () => void = () => undefined;
  readonly asked: string[] = [];
  readonly lookedAt: string[] = [];
  readonly written: (readonly [string, readonly Drift[] | undefined])[] = [];

  async look(name = "one"): Promise<number | undefined> {
    const ports: DriftPorts = {
      rollout: (key) => this.rollouts.find(({ metadata }) => key === `grants/${metadata.name}`),
      rolloutsOf: () => this.rollouts,
      accepted: () => this.accepted,
      contentOf: async (content) => {
        this.asked.push(content.name);
        if (this.problem !== undefined) return { ...content, objects: [], problem: this.problem };
        return { ...content, objects: this.objects };
      },
      looksAt: async (objects) => {
        this.duringLook();
        const refs = new Set(objects.map(({ manifest }) => refOf(manifest)));
        this.lookedAt.push(...refs);
        return new Map([...this.looks].filter(([ref]) => refs.has(ref)));
      },
      writeDrift: async ({ metadata }, { drift, conditions }) => {
        this.written.push([metadata.name, drift]);
        const { drift: _, ...before } =
          this.rollouts.find((each) => each.metadata.name === metadata.name)?.status ?? {};
        const status = { ...before, conditions: [...conditions], ...(drift && { drift }) } as RolloutStatus;
        this.rollouts = this.rollouts.map((each) =>
          each.metadata.name === metadata.name ? { ...each, status } : each,
        );
      },
      fence: () => undefined,
      now: () => new Date(at(30)),
      redact: (text) => text.replaceAll("hunter2", "[redacted]"),
    };
    const context = { signal: new AbortController().signal, log: silentLogger } as never;
    return (await reconcileDrift(`grants/${name}`, ports, context))?.requeueAfterMs;
  }

  is(changes: Partial<Pick<World, "accepted" | "problem">>): void {
    Object.assign(this, changes);
  }

  compared(name = "one") {
    const { status } = this.rollouts.find(({ metadata }) => metadata.name === name) ?? {};
    return status?.conditions?.find(({ type }) => type === "Compared");
  }
}

test("what others change is said once, is looked at sooner, and goes when it is gone", async () => {
  const world = new World();
  expect(world.compared()).toBeUndefined();
  expect(await world.look()).toBe(600_000);
  expect(await world.look()).toBe(600_000);
  expect(world.compared()).toMatchObject({ status: "True", reason: "AllCompared", lastTransitionTime: at(30) });
  world.looks.set(REF, edited);
  expect(await world.look()).toBe(60_000);
  expect(await world.look()).toBe(60_000);
  expect(world.written).toEqual([
    ["one", undefined],
    ["one", [CHANGED]],
  ]);
  world.looks.set(REF, intact);
  expect(await world.look()).toBe(600_000);
  expect(world.written.at(-1)).toEqual(["one", undefined]);
});

test.each<[string, (world: World) => void, readonly Drift[]]>([
  ["an object that was deleted", ({ looks }) => looks.set(REF, "missing"), [{ ref: REF }]],
  ["no object that may not be read", ({ looks }) => looks.set(REF, "unreadable"), []],
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
  expect(world.written).toEqual([["one", drift.length === 0 ? undefined : drift]]);
});

test.each<[string, string, string, (world: World) => void]>([
  ["may not be read", "NotReadable", REF, ({ looks }) => looks.set(REF, "unreadable")],
  ["is of a kind that is not served", "NotReadable", REF, ({ looks }) => looks.clear()],
  ["lies in a closed namespace", "NamespaceClosed", REF, (world) => world.is({ accepted: [] })],
  ["is of a deployment that is not served", "NamespaceClosed", REF, (world) => world.is({ accepted: undefined })],
  [
    "is of a content that is gone",
    "ContentMissing",
    "no content",
    (world) => world.is({ problem: { reason: "ContentMissing", message: "no content; run kubectl get" } }),
  ],
  [
    "is of a content that was exchanged",
    "ContentChanged",
    "[redacted] is another",
    (world) => world.is({ problem: { reason: "ContentChanged", message: "hunter2 is another" } }),
  ],
])("an object that %s keeps the drift on record, and it is not known whether there is more", async (...row) => {
  const [, reason, text, happens] = row;
  const world = new World();
  const other = line("ConfigMap", "other");
  world.looks.set("ConfigMap/shop/other", "missing");
  world.objects = [WEB, other];
  world.looks.set(REF, edited);
  await world.look();
  expect(world.compared()).toMatchObject({ status: "True" });
  happens(world);
  expect(await world.look()).toBe(60_000);
  expect(world.rollouts[0]?.status?.drift).toEqual([CHANGED, { ref: "ConfigMap/shop/other" }]);
  expect(world.compared()).toMatchObject({ status: "Unknown", reason });
  expect(world.compared()?.message).toContain(text);
  expect(world.compared()?.message).not.toMatch(/kubectl|hunter2/);
});

test("what can be looked at is told anew while the rest stays as it was on record", async () => {
  const world = new World();
  world.objects = [WEB, line("ConfigMap", "other")];
  world.looks.set(REF, edited).set("ConfigMap/shop/other", "missing");
  await world.look();
  world.looks.set(REF, "unreadable").set("ConfigMap/shop/other", intact);
  await world.look();
  expect(world.written.at(-1)).toEqual(["one", [CHANGED]]);
  world.looks.set(REF, intact);
  expect(await world.look()).toBe(600_000);
  expect(world.written.at(-1)).toEqual(["one", undefined]);
  expect(world.compared()).toMatchObject({ status: "True" });
});

test("before the first whole look it is not known, also where nothing is on record", async () => {
  const world = new World();
  world.accepted = [];
  expect(await world.look()).toBe(600_000);
  expect(world.lookedAt).toEqual([]);
  expect(world.compared()).toMatchObject({ status: "Unknown", reason: "NamespaceClosed" });
  world.accepted = ["shop"];
  await world.look();
  expect(world.compared()).toMatchObject({ status: "True" });
});

describe("what was given way to", () => {
  const plan = (overrides: readonly object[]) =>
    ({ plan: { create: 0, change: 0, prune: 0, unchanged: 0, overrides } }) as unknown as RolloutStatus;
  const ONE = { ref: REF, field: ".data.key", manager: "their-editor" };
  const FULL = Array.from({ length: 50 }, (_, index) => ({ ...ONE, field: `.data.f${index}` }));
  const PART = FULL.slice(0, 30);
  const back = { rolledBackTo: "rel-one", formerDigest: DIGEST };
  const ofOne = (name: string, state: RolloutState, minute: number, status: RolloutStatus): Rollout => {
    const made = rollout(name, state, minute, status);
    return { ...made, spec: { ...made.spec, contentName: "rel-one" } };
  };
  const withoutStart = (made: Rollout): Rollout => {
    const { startedAt: _, ...status } = made.status ?? {};
    return { ...made, status };
  };

  test.each<[string, string, readonly Rollout[], boolean]>([
    ["by itself is no drift", "one", [rollout("one", "Succeeded", 1, plan([ONE]))], false],
    [
      "in the plans of others of the same content is drift",
      "one",
      [
        rollout("one", "Succeeded", 5),
        withoutStart(ofOne("denied", "Denied", 2, plan([ONE]))),
        withoutStart(ofOne("superseded", "Superseded", 3, plan([ONE]))),
        ofOne("before", "Succeeded", 1, plan([ONE])),
      ],
      true,
    ],
    [
      "by the content that is back is no drift",
      "two",
      [rollout("one", "Succeeded", 1, plan([ONE])), rollout("two", "RolledBack", 2, back)],
      false,
    ],
    [
      "by the one that went back is no drift",
      "two",
      [rollout("one", "Succeeded", 1), rollout("two", "RolledBack", 2, { ...back, ...plan([ONE]) })],
      false,
    ],
    [
      "before the content that is back was applied last is drift",
      "two",
      [
        ofOne("older", "Succeeded", 1, plan([ONE])),
        ofOne("one", "Succeeded", 2, {}),
        ofOne("failed", "Failed", 3, plan([ONE])),
        rollout("two", "RolledBack", 4, back),
      ],
      true,
    ],
    [
      "with another digest of that name is drift",
      "two",
      [
        rollout("one", "Succeeded", 1, plan([ONE])),
        rollout("two", "RolledBack", 2, { ...back, formerDigest: `sha256:${"b".repeat(64)}` }),
      ],
      true,
    ],
    [
      "in two lists that are each shorter than the longest leaves the rest to compare",
      "two",
      [rollout("one", "Succeeded", 1, plan(PART)), rollout("two", "RolledBack", 2, { ...back, ...plan(PART) })],
      true,
    ],
  ])("%s", async (_, name, rollouts, isDrift) => {
    const world = new World();
    world.rollouts = [...rollouts];
    world.looks.set(REF, edited);
    await world.look(name);
    expect(world.written).toEqual([[name, isDrift ? [CHANGED] : undefined]]);
    expect(world.compared(name)).toMatchObject({ status: "True" });
  });

  test.each<[string, string, readonly Rollout[]]>([
    ["this rollout's", "one", [rollout("one", "Succeeded", 1, plan(FULL))]],
    ["that of the content", "two", [rollout("one", "Succeeded", 1, plan(FULL)), rollout("two", "RolledBack", 2, back)]],
  ])("may be more than is listed where %s list is full: only missing objects are told", async (_, name, rollouts) => {
    const world = new World();
    world.rollouts = [...rollouts];
    world.objects = [WEB, line("ConfigMap", "gone")];
    world.looks.set(REF, edited).set("ConfigMap/shop/gone", "missing");
    await world.look(name);
    expect(world.written).toEqual([[name, [{ ref: "ConfigMap/shop/gone" }]]]);
    expect(world.compared(name)).toMatchObject({ status: "Unknown", reason: "OverridesFull" });
  });

  test.each<[string, string, string, string?]>([
    ["a map with a command below it", "conf", "it's.kubectl", "it's"],
    ["a command in a key", "conf", "kubectl"],
    ["a command in a quoted key", "conf", `it's "kubectl"`],
    ["a command in the object's name", "kubectl-tools", "key"],
    ["a sign of a shell", "conf", "a|b"],
    ["a secret", "conf", "hunter2.conf"],
    ["a path that is cut", "conf", "k".repeat(250)],
    ["a path that is cut, with a secret", "conf", `${"hunter2.".repeat(30)}${"k".repeat(13)}`],
    ["a command behind the cut", "conf", `${"k".repeat(240)} kubectl`],
  ])("is known again as it is stored: %s", async (_, name, key, given = `${key}.deep`) => {
    const world = new World();
    const { manifest } = line("ConfigMap", name);
    const ref = `ConfigMap/shop/${name}`;
    world.objects = [{ ...line("ConfigMap", name), manifest: { ...manifest, data: { [key]: { deep: "1" } } } }];
    const fieldsV1 = { "f:data": { [`f:${key}`]: { "f:deep": {} } } };
    const [release = {}] = (edited as { managedFields: readonly object[] }).managedFields;
    const look = { managedFields: [release, { manager: "their-editor", apiVersion: "v1", fieldsV1 }] };
    world.looks = new Map([[ref, look as MemberLook]]);
    await world.look();
    expect(world.rollouts[0]?.status?.drift).toHaveLength(1);
    const known = toldOverride({ ref, field: `.data.${given}`, manager: "their-editor" });
    const [one = rollout("one", "Succeeded", 1)] = world.rollouts;
    const fields = plan([known]);
    world.rollouts = [
      {
        ...one,
        status: statusAs(one, "Succeeded", [], fields, (text) => text.replaceAll("hunter2", "[redacted]"), new Date(0)),
      },
    ];
    await world.look();
    expect(world.rollouts[0]?.status?.drift).toBeUndefined();
  });
});

test("no Job that is gone is told: of a setup, of a hook, or with a name of its own", async () => {
  const world = new World();
  const job = (name: string, more: Partial<ReleaseObject> = {}): ReleaseObject => {
    const { manifest } = line("Job", name);
    return { ...line("Job", name, more), manifest: { ...manifest, apiVersion: "batch/v1" } };
  };
  world.objects = [job("migrate"), job("web-hook-0a1b2c3d"), job("fill", { frozen: true }), line("ConfigMap", "gone")];
  world.looks = new Map(world.objects.map(({ manifest }) => [refOf(manifest), "missing"]));
  await world.look();
  expect(world.lookedAt).toHaveLength(4);
  expect(world.written).toEqual([["one", [{ ref: "ConfigMap/shop/gone" }]]]);
  expect(world.compared()).toMatchObject({ status: "True" });
});

test.each<[string, RolloutState, number]>([
  ["begins", "Applying", 2],
  ["begins in the second in which this one began", "Applying", 1],
  ["runs from beginning to end", "Succeeded", 2],
])("nothing is written where another rollout %s during the look", async (_, state, minute) => {
  const world = new World();
  world.looks.set(REF, "missing");
  world.duringLook = () => world.rollouts.push(rollout("two", state, minute));
  expect(await world.look()).toBeUndefined();
  expect(world.written).toEqual([]);
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
  await world.look();
  world.looks.set(REF, "missing");
  await world.look();
  expect(world.compared()).toMatchObject({ status: "True" });
  world.asked.length = 0;
  world.rollouts.push(rollout("two", "Gating", 2));
  expect(driftKeys(world.rollouts)).toEqual(["grants/one"]);
  expect(await world.look()).toBeUndefined();
  expect(await world.look("two")).toBeUndefined();
  expect(world.asked).toEqual([]);
  expect([world.compared(), world.rollouts[0]?.status?.drift]).toEqual([undefined, undefined]);
  expect(driftKeys(world.rollouts)).toEqual([]);
  world.written.length = 0;
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

test("a rollout that was replaced does not say any more that it was compared", async () => {
  const world = new World();
  await world.look();
  world.rollouts.push(rollout("two", "Succeeded", 2));
  expect(driftKeys(world.rollouts)).toEqual(["grants/one", "grants/two"]);
  await world.look("one");
  expect(world.compared("one")).toBeUndefined();
  expect(driftKeys(world.rollouts)).toEqual(["grants/two"]);
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
