import { expect, test } from "vitest";
import { differences } from "./difference.ts";

const pod = (containers: readonly object[], more: object = {}): object => ({ spec: { containers }, ...more });

test.each<[string, object, object, readonly string[]]>([
  ["nothing", { spec: { a: 1 } }, { spec: { a: 1 } }, []],
  ["a field", { spec: { a: 1 } }, { spec: { a: 2 } }, [".spec.a"]],
  ["a field that is new, and nothing below it", { spec: {} }, { spec: { a: { b: 1, c: 2 } } }, [".spec.a"]],
  ["a field that goes", { data: { key: "secret" } }, { data: {} }, [".data.key"]],
  ["what the API server writes", { metadata: { uid: "1" }, status: { a: 1 } }, { metadata: { generation: 2 } }, []],
  [
    "a label",
    { metadata: { labels: { "a.b/c": "1" } } },
    { metadata: { labels: { "a.b/c": "2" } } },
    [".metadata.labels.a.b/c"],
  ],
  [
    "an element by its name, wherever it stands",
    pod([{ name: "a", image: "1" }, { name: "b" }]),
    pod([{ name: "b" }, { name: "a", image: "2" }]),
    ['.spec.containers[name="a"].image'],
  ],
  ["an element that is new", pod([]), pod([{ name: "a" }]), ['.spec.containers[name="a"]']],
  [
    "an element by its place, where names do not tell",
    pod([{ p: 1 }, { p: 2 }]),
    pod([{ p: 1 }, { p: 3 }]),
    [".spec.containers[1].p"],
  ],
  ["a list of words as a whole", { args: ["a"] }, { args: ["b", "c"] }, [".args"]],
])("%s", (_, before, after, fields) => {
  expect(differences(before, after)).toEqual(fields);
});

test("no more than fifty", () => {
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`k${index}`, "value-to-hide"]));
  const found = differences({ data: {} }, { data: many });
  expect(found).toHaveLength(50);
  expect(found.join()).not.toContain("value-to-hide");
});
