import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isRecord } from "../../../base/is-record.ts";
import { type FieldOwner, lostFields } from "./field-owners.ts";

const API = "apps/v1";
const ours = (fieldsV1: unknown): FieldOwner =>
  ({ manager: "sallyport-release", operation: "Apply", apiVersion: API, fieldsV1 }) as FieldOwner;
const theirs = (fieldsV1: unknown, more: Partial<FieldOwner> = {}): FieldOwner =>
  ({ manager: "kubectl-edit", operation: "Update", apiVersion: API, fieldsV1, ...more }) as FieldOwner;
const manifest = (spec: object, metadata: object = {}) => ({
  ...{ apiVersion: API, kind: "Deployment", spec },
  metadata: { name: "web", namespace: "shop", ...metadata },
});
const container = (fields: object) => ({
  "f:template": { "f:spec": { "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:name": {}, ...fields } } } },
});
const template = { template: { spec: { containers: [{ name: "c", image: "app:1", args: ["-v"] }] } } };
const ALL = { "f:image": {}, "f:args": {} };
const IMAGE = '.spec.template.spec.containers[name="c"].image';

test.each<[string, object, readonly FieldOwner[], readonly (readonly [string, string?])[]]>([
  ["nothing while it owns all", manifest(template), [ours({ "f:spec": container(ALL) })], []],
  [
    "a field that another has written",
    manifest(template),
    [ours({ "f:spec": container({ "f:args": {} }) }), theirs({ "f:spec": container({ "f:image": {} }) })],
    [[IMAGE, "kubectl-edit"]],
  ],
  [
    "a field that was removed, without a manager",
    manifest(template),
    [ours({ "f:spec": container({ "f:args": {} }) })],
    [[IMAGE]],
  ],
  [
    "the one that wrote last",
    manifest({ replicas: 2 }),
    [
      ours({ "f:metadata": {} }),
      theirs({ "f:spec": { "f:replicas": {} } }, { manager: "a", time: "2026-01-01T10:00:00Z" }),
      theirs({ "f:spec": { "f:replicas": {} } }, { manager: "b", time: "2026-01-01T11:00:00Z" }),
    ],
    [[".spec.replicas", "b"]],
  ],
  [
    "no replicas that an autoscaler has set",
    manifest({ replicas: 2 }),
    [ours({ "f:metadata": {} }), theirs({ "f:spec": { "f:replicas": {} } }, { subresource: "scale" })],
    [],
  ],
  [
    "nothing that only a status says",
    manifest({ replicas: 2 }),
    [ours({ "f:spec": { "f:replicas": {} } }), theirs({ "f:status": {} }, { subresource: "status" })],
    [],
  ],
  [
    "a label, and none of what the API server keeps no owner of",
    manifest({}, { labels: { "app.kubernetes.io/name": "web" }, uid: "u" }),
    [ours({ "f:spec": {} })],
    [[".metadata.labels"]],
  ],
  [
    "an element that is gone",
    manifest({ ports: [{ containerPort: 80 }, { containerPort: 81, name: "admin" }] }),
    [
      ours({
        "f:spec": { "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } } },
      }),
    ],
    [['.spec.ports[name="admin"]']],
  ],
  [
    "a list that is one value",
    manifest({ args: ["a"] }),
    [ours({ "f:metadata": {} }), theirs({ "f:spec": { "f:args": {} } })],
    [[".spec.args", "kubectl-edit"]],
  ],
  [
    "an object that was made anew",
    manifest(template),
    [theirs({ "f:spec": {} }, { manager: "kubectl-create" })],
    [[".", "kubectl-create"]],
  ],
  ["nothing of another version", { ...manifest(template), apiVersion: "apps/v2" }, [ours({})], []],
  ["nothing of empty maps, lists and nulls", manifest({ a: {}, b: [], c: null }), [ours({ "f:metadata": {} })], []],
])("tells %s", (_, object, owners, lost) => {
  const told = lostFields(object, owners).map(({ field, manager }) => [field, manager]);
  expect(told).toEqual(lost.map(([field, manager]) => [field, manager]));
});

test("a field that has the release's value again is not lost, although another owns it", () => {
  const owners = [ours({ "f:spec": container({ "f:args": {} }) }), theirs({ "f:spec": container({ "f:image": {} }) })];
  const live = (image: string) => ({
    spec: { replicas: 1, template: { spec: { containers: [{ name: "x" }, { name: "c", image, args: ["-v"] }] } } },
  });
  expect(lostFields(manifest(template), owners, live("app:2"))).toHaveLength(1);
  expect(lostFields(manifest(template), owners, live("app:1"))).toEqual([]);
});

test("a list of thousands is compared as one value: no element is looked for among all the others", () => {
  const env = Array.from({ length: 3_000 }, (_, n) => ({ name: `v${n}`, value: "1" }));
  const keys = Object.fromEntries(env.map(({ name }) => [`k:{"name":"${name}"}`, { "f:value": {} }]));
  const spec = (list: readonly object[]) => ({ template: { spec: { containers: [{ name: "c", env: list }] } } });
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  const owners = [ours({ "f:spec": container({}) }), theirs({ "f:spec": container({ "f:env": keys }) })];
  const field = '.spec.template.spec.containers[name="c"].env';
  expect(lostFields(manifest(spec(env)), owners, manifest(spec(env.toReversed())))).toEqual([
    { field, manager: "kubectl-edit" },
  ]);
  expect(parse.mock.calls.length).toBeLessThan(100);
});

describe("of any object", () => {
  type Tree = { [key: string]: Tree | string };
  const name = fc.stringMatching(/^[a-z]{1,4}$/);
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.dictionary(name, fc.oneof({ depthSize: "small" }, fc.constant("x"), tie("tree")), {
      minKeys: 1,
      maxKeys: 4,
    }),
  }));
  const owned = (value: unknown): object =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [`f:${key}`, owned(each)])) : {};
  const leaves = (value: Tree, path: readonly string[] = []): (readonly string[])[] =>
    Object.entries(value).flatMap(([key, each]) =>
      isRecord(each) ? leaves(each as Tree, [...path, key]) : [[...path, key]],
    );
  const without = (value: Tree, [key = "", ...rest]: readonly string[]): Tree => {
    const { [key]: below, ...others } = value;
    const left = isRecord(below) && rest.length > 0 ? without(below as Tree, rest) : {};
    return { ...others, ...(Object.keys(left).length > 0 && { [key]: left }) };
  };
  const only = ([key = "", ...rest]: readonly string[]): Tree => ({ [key]: rest.length === 0 ? "x" : only(rest) });

  test("exactly the leaf that another took is told, and with whom it is", () => {
    fc.assert(
      fc.property(tree, fc.nat(), (spec, nth) => {
        const all = leaves(spec);
        const taken = all[nth % all.length] ?? [];
        expect(lostFields(manifest(spec), [ours({ "f:spec": owned(spec) })])).toEqual([]);
        // The release always owns something else: its labels.
        const own = ours({ "f:metadata": { "f:labels": { "f:a": {} } }, ...nonEmpty(without(spec, taken)) });
        const other = theirs({ "f:spec": owned(only(taken)) });
        expect(lostFields(manifest(spec, { labels: { a: "x" } }), [own, other])).toEqual([
          { field: `.spec.${taken.join(".")}`, manager: "kubectl-edit" },
        ]);
      }),
    );
  });
  const nonEmpty = (spec: Tree) => (Object.keys(spec).length === 0 ? {} : { "f:spec": owned(spec) });
});
