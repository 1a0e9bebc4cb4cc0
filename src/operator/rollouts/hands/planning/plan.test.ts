import { expect, test } from "vitest";
import type { Intent } from "../hands.ts";
import { NOTHING_SHOWN, planned, type Shown } from "./plan.ts";

const line = (value: string) => ({
  ...{ wave: 0, frozen: false, resourceId: "a" },
  manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shop" }, data: { value } },
});
/** With pods that pull with this Secret. */
const reading = (name: string) => ({
  ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a", namespace: "shop" } },
  spec: { template: { spec: { imagePullSecrets: [{ name }] } } },
});
const intent = (value = "1", action = "update"): Intent => ({
  rollout: { spec: { action } } as Intent["rollout"],
  ...{
    objects: [line(value)],
    former: [],
    installed: [],
    formerRef: undefined,
    done: [],
    takeOver: [],
    namespaces: ["shop"],
  },
});
const digest = (shown: Partial<Shown>, of = intent()): string =>
  planned(of, { ...NOTHING_SHOWN, ...shown }).plannedDigest;

test("the digest covers the content, the action and the objects of each verb, in any order", () => {
  const overrides = [{ ref: "a", field: ".spec.replicas", manager: "kubectl" }];
  const all = [
    digest({}),
    digest({}, intent("2")),
    digest({}, intent("1", "install")),
    digest({ created: ["a"] }),
    digest({ created: ["a", "b"] }),
    digest({ adopted: [{ ref: "a", fields: [".x"], manifest: line("1").manifest }] }),
    digest({ adopted: [{ ref: "a", fields: [".x"], manifest: reading("pull") }] }),
    digest({ met: ["pods of Deployment shop/web match your Service shop/db"] }),
    digest({ changed: [{ ref: "a", fields: [".x"] }] }),
    digest({ recreated: [{ ref: "a", fields: [".x"] }] }),
    digest({ pruned: ["a"] }),
    digest({ risks: ["stops a"] }),
    digest({ overrides }),
    digest({}, { ...intent(), formerRef: { name: "rel-1", digest: "sha256:1" } }),
    digest({}, { ...intent(), formerRef: { name: "rel-1", digest: "sha256:2" } }),
    digest({}, { ...intent(), formerRef: { name: "rel-2", digest: "sha256:1" } }),
    digest({ created: ["ServiceAccount/shop/web"] }),
  ];
  expect(new Set(all).size).toBe(all.length);
  expect(digest({ created: ["b", "a"] })).toBe(digest({ created: ["a", "b"] }));
  expect(digest({ unchanged: 3, problems: [{ ref: "a", message: "no" }] })).toBe(digest({}));
  expect(digest({ overrides: [...overrides, ...overrides] })).toBe(digest({ overrides }));
});

test("it fits the status: a hundred lines, fifty overrides and refusals, each of bounded length", () => {
  const names = Array.from({ length: 150 }, (_, index) => `ConfigMap/shop/${"n".repeat(400)}-${index}`);
  const overrides = names.map((ref) => ({ ref, field: "f".repeat(300), manager: "m".repeat(300) }));
  const problems = names.map((ref) => ({ ref, message: "p".repeat(600) }));
  const { plan, problems: told } = planned(intent(), { ...NOTHING_SHOWN, created: names, overrides, problems });
  expect(plan).toMatchObject({ create: 150, refused: told });
  expect(plan.changes).toHaveLength(100);
  expect(plan.changes?.at(-1)).toBe("and 51 more of these");
  expect([plan.overrides?.length, told.length]).toEqual([50, 50]);
  expect(Math.max(...(plan.changes ?? []).map(({ length }) => length))).toBe(400);
  const [override] = plan.overrides ?? [];
  expect([override?.ref.length, override?.field.length, override?.manager.length]).toEqual([320, 256, 128]);
  expect(told[0]?.message).toHaveLength(512);
});

test("what is deleted comes first, then what is used beside the release, changes, and last what is created", () => {
  const created = Array.from({ length: 150 }, (_, index) => `ConfigMap/shop/c-${index}`);
  const shown = { ...NOTHING_SHOWN, created, changed: [{ ref: "Service/shop/web", fields: [".spec.ports"] }] };
  const accounts = { ...shown, created: [...created, "ServiceAccount/shop/web"], pruned: ["Service/shop/old"] };
  const pod = { ...line("1"), manifest: reading("pull") };
  const met = ["pods of Deployment shop/web match your Service shop/db"];
  expect(planned({ ...intent(), objects: [pod] }, { ...accounts, met }).plan.changes?.slice(0, 6)).toEqual([
    "delete Service/shop/old",
    "reads Secret shop/pull, which the release does not bring",
    ...met,
    "has ServiceAccount shop/web: bindings and clouds that name it, or its namespace, give it their rights",
    "change Service/shop/web: .spec.ports",
    "create ConfigMap/shop/c-0",
  ]);
});

test("an object that is adopted counts as changed, and its line says that it may be deleted later", () => {
  const adopted = [
    { ref: "ServiceAccount/shop/web", fields: [".metadata.labels"], manifest: line("1").manifest },
    { ref: "ConfigMap/shop/a", fields: [], manifest: reading("kept") },
  ];
  const { plan, awaitsTakeOver } = planned(intent(), { ...NOTHING_SHOWN, adopted });
  expect({ plan, awaitsTakeOver }).toEqual({
    plan: {
      ...{ create: 0, change: 2, prune: 0, unchanged: 0 },
      changes: [
        "adopts ServiceAccount/shop/web, and may delete it when a later release has it no more: .metadata.labels",
        "adopts ConfigMap/shop/a, and may delete it when a later release has it no more",
        "reads Secret shop/kept, which the release does not bring",
        "has ServiceAccount shop/web: bindings and clouds that name it, or its namespace, give it their rights",
      ],
    },
    awaitsTakeOver: false,
  });
});

test("a plan awaits the customer when all that speaks against it is theirs to give", () => {
  const theirs = { ref: "a", message: "NotOurs", isAdoptable: true };
  const waits = (...problems: Shown["problems"]) => planned(intent(), { ...NOTHING_SHOWN, problems }).awaitsTakeOver;
  expect([waits(theirs), waits(theirs, { ref: "b", message: "no" }), waits()]).toEqual([true, false, false]);
});

test("no class of lines pushes another out, and each says how many more there are", () => {
  const many = (word: string) => Array.from({ length: 150 }, (_, index) => `${word}-${index}`);
  const changed = many("c").map((ref) => ({ ref, fields: [".x"] }));
  const met = many("m").map((each) => `pods of Deployment shop/${each} match your Service shop/db`);
  const created = [...many("n"), ...many("ServiceAccount/shop/s")];
  const shown = { ...NOTHING_SHOWN, pruned: many("p"), met, changed, created };
  const { changes = [] } = planned(intent(), shown).plan;
  expect(changes).toHaveLength(100);
  const count = (verb: string) => changes.filter((line) => line.startsWith(`${verb} `)).length;
  expect(["delete", "pods", "has", "change", "create"].map(count)).toEqual([75, 5, 5, 5, 5]);
  const cut = [...changes.entries()].filter(([, line]) => line.startsWith("and "));
  expect(cut.map(([at, line]) => `${at}: ${line}`)).toEqual([
    "75: and 75 more of these",
    "81: and 145 more of these",
    "87: and 145 more of these",
    "93: and 145 more of these",
    "99: and 295 more of these",
  ]);
});

test("a line has as many fields as it has room for, the first ones, and says how many more there are", () => {
  const fields = Array.from({ length: 50 }, (_, index) => `.spec.template.spec.containers[name="c"].env[${index}]`);
  const adopted = [{ ref: "Deployment.apps/shop/web", fields, manifest: line("1").manifest }];
  const changed = [
    { ref: "ConfigMap/shop/a", fields: [`.data.${"k".repeat(500)}`] },
    { ref: "ConfigMap/shop/b", fields },
  ];
  const { changes = [] } = planned(intent(), { ...NOTHING_SHOWN, adopted, changed }).plan;
  expect(Math.max(...changes.map(({ length }) => length))).toBeLessThanOrEqual(400);
  expect(changes[0]).toMatch(/no more: \S+env\[0\], .*env\[5\], and 44 more fields$/);
  expect(changes.slice(1)).toEqual([
    "change ConfigMap/shop/a: 1 field",
    expect.stringMatching(/^change ConfigMap\/shop\/b: .*env\[0\], .*, and 43 more fields$/),
  ]);
});

test("a plan of nothing says no more than that", () => {
  expect(planned(intent(), { ...NOTHING_SHOWN, unchanged: 4 }).plan).toEqual({
    create: 0,
    change: 0,
    prune: 0,
    unchanged: 4,
  });
});

test("what is made anew is counted, and stands before all else", () => {
  const recreated = [{ ref: "Deployment.apps/shop/web", fields: [".spec.selector"] }];
  const { plan } = planned(intent(), {
    ...NOTHING_SHOWN,
    recreated,
    pruned: ["Service/shop/old"],
    created: ["Job/shop/a"],
  });
  expect(plan).toMatchObject({ create: 1, change: 0, prune: 1, recreate: ["Deployment.apps/shop/web"] });
  expect(plan.changes).toEqual([
    "delete Deployment.apps/shop/web and make it anew, because of what cannot be changed: .spec.selector",
    "delete Service/shop/old",
    "create Job/shop/a",
  ]);
});

test("what does not run for a while stands after what is deleted, and before all else", () => {
  const risks = ["leaves new ConfigMap in shop when it is taken back", "stops Deployment.apps/shop/web"];
  const changed = [{ ref: "Deployment.apps/shop/web", fields: [".spec.template"] }];
  const { plan } = planned(intent(), { ...NOTHING_SHOWN, pruned: ["Service/shop/old"], risks, changed });
  expect(plan.changes).toEqual([
    "delete Service/shop/old",
    ...risks,
    "change Deployment.apps/shop/web: .spec.template",
  ]);
});
