import { expect, test } from "vitest";
import { documentsIn, objectsOf } from "./located-objects.ts";

function read(text: string) {
  const faults: string[] = [];
  const found = objectsOf(documentsIn("a.yaml", text), ({ file, document, lineOf }, fault) => {
    faults.push(`${file}:${lineOf([])} (${document}): ${fault}`);
  });
  return { found, objects: found.map(({ object }) => object), faults };
}

test("scalars are what kubectl makes of them", () => {
  const text = "kind: A\nmode: 0644\non: yes\nat: 10:30\nday: 2026-01-01\ntext: 'yes'\n";
  expect(read(text).objects).toEqual([
    { kind: "A", mode: 0o644, true: true, at: "10:30", day: "2026-01-01", text: "yes" },
  ]);
});

test("documents, lists and JSON are objects each, with the line of what a path leads to", () => {
  const text = [
    ...["---", "# only a comment", "---", "kind: A", "metadata:", "  name: a", "---"],
    ...["kind: List", "apiVersion: v1", "items:", "- kind: B", "  metadata: {name: b}", "- kind: C"],
  ].join("\n");
  const { found, faults } = read(text);
  expect(found.map(({ object }) => object.kind)).toEqual(["A", "B", "C"]);
  expect(found.map(({ place }) => [place.document, place.lineOf(["metadata", "name"])])).toEqual([
    [2, 6],
    [3, 12],
    [3, 13],
  ]);
  expect(faults).toEqual([]);
  expect(read('{"kind": "A"}').objects).toEqual([{ kind: "A" }]);
});

test("empty fields that generators write are left out, and a status that says something is not", () => {
  const [bare, full] = [
    "kind: A\nmetadata: {name: a, creationTimestamp: null, labels: null}\nstatus: {}\n",
    "kind: B\nstatus: {ready: 1}\n",
  ].flatMap((text) => read(text).objects);
  expect(bare).toEqual({ kind: "A", metadata: { name: "a" } });
  expect(full).toEqual({ kind: "B", status: { ready: 1 } });
});

test.each([
  ["what is no YAML", "kind: A\n---\nkind: [\n", /^a\.yaml:\d \(2\): /],
  ["text alone", "kind: A\n---\nhello\n", /^a\.yaml:3 \(2\): is no Kubernetes object$/],
  [
    "aliases without end",
    `a: &a [x,x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f", "g", "h"].map((name, n) => `${name}: &${name} [${Array(10).fill(`*${"abcdefg"[n]}`)}]\n`).join("")}`,
    /^a\.yaml:1 \(1\): its aliases repeat more than a file may hold$/,
  ],
  [
    "a long text that aliases repeat",
    `a: &a ${"x".repeat(100_000)}\nb: [${Array(1_000).fill("*a")}]\n`,
    /^a\.yaml:1 \(1\): its aliases repeat more/,
  ],
  ["an anchor in itself", "a: &a\n  b: *a\n", /^a\.yaml:2 \(1\): the anchor a contains itself$/],
  ["an anchor that is not there", "a: *b\n", /^a\.yaml:1 \(1\): there is no anchor b before it$/],
  ["a directive", "%YAML 1.1\n---\nkind: A\n", /^a\.yaml:1 \(1\): directives such as %YAML are not read/],
  ["two files in one", "kind: A\n\ufeffkind: B\n", /^a\.yaml:2 \(1\): a byte order mark in a document: a line of ---/],
  ["what follows JSON", '{"kind": "A"}\n{"kind": ]\n', /^a\.yaml:2 \(2\): /],
  ["a number that JSON lacks", "kind: A\nn: .inf\n", /^a\.yaml:2 \(1\): is a number that JSON does not have$/],
  ["a key of null", "kind: A\nn:\n  ~: 1\n", /^a\.yaml:3 \(1\): is a key that is no text, number or boolean$/],
])("%s is told with its line", (_, text, told) => {
  const { faults } = read(text);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(told);
});

test("what helm renders is named by its template", () => {
  const { found } = read(
    "---\n# Source: shop/templates/a.yaml\nkind: A\n---\n# Source: shop/templates/b.yaml\nkind: B\n",
  );
  expect(found.map(({ place }) => place.file)).toEqual(["shop/templates/a.yaml", "shop/templates/b.yaml"]);
});

test("of a key that is there twice the last one counts, and its line is told", () => {
  const [found] = documentsIn("a.yaml", "kind: A\nkind: B\nm: {<<: {a: 1}, a: 2}\n");
  expect(found).toMatchObject({ value: { kind: "B", m: { a: 2 } } });
  expect(found?.doubts).toEqual(["a.yaml:2 is a key that its map has already: the last one counts, as for kubectl"]);
});

test.each([
  ["a Service", { loadBalancer: {} }, true],
  ["a workload", { replicas: 0, conditions: [], observedGeneration: 0 }, true],
  ["a definition", { acceptedNames: { kind: "", plural: "" }, conditions: null, storedVersions: [] }, true],
  ["what runs", { replicas: 1 }, false],
  ["what is not ready", { conditions: [{ type: "Ready" }] }, false],
])("a status as of %s is left out where nothing is in it", (_, status, isLeftOut) => {
  const metadata = { name: "a", namespace: "", uid: "", generation: 0, finalizers: [], labels: { a: "" } };
  const { objects } = read(JSON.stringify({ kind: "A", metadata, status }));
  expect(objects).toEqual([{ kind: "A", metadata: { name: "a", labels: { a: "" } }, ...(!isLeftOut && { status }) }]);
});

test("items of a list of one kind are of that kind", () => {
  const text = "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]\n";
  expect(read(text).objects).toEqual([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }]);
});
