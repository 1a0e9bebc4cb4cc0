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
  ["a key twice", "kind: A\nkind: B\n", /^a\.yaml:2 \(1\): Map keys must be unique$/],
  ["text alone", "kind: A\n---\nhello\n", /^a\.yaml:3 \(2\): is no Kubernetes object$/],
  [
    "aliases without end",
    `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\n`,
    /^a\.yaml:1 \(1\): Excessive alias count/,
  ],
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
