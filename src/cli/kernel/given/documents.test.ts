import { expect, test } from "vitest";
import { cpuMs } from "../../../base/testing/cpu-time.ts";
import { documentsIn } from "./documents.ts";
import { givenValue } from "./given-file.ts";

const read = (text: string): readonly unknown[] =>
  [...documentsIn(text)].map(({ value, fault }) => (fault === undefined ? value : `${fault.line}: ${fault.message}`));

test("documents are what lies between lines of ---, and JSON that stands one after the other", () => {
  expect(read("")).toEqual([]);
  expect(read("\n# nothing\n---\n---\n...\n")).toEqual([]);
  expect(read("a: 1\n---\nb: 2\n--- # c\nc: 3")).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
  expect(read('{"a": 1}{"b": "}"}\n\n{"c": "\\"}"} ')).toEqual([{ a: 1 }, { b: "}" }, { c: '"}' }]);
  expect(read('{"a": 1}\n---\nb: 2\n---\n{"c": 3}\n{"d": 4}\n')).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }, { d: 4 }]);
  expect(read("\ufeffa: 1\r\n---\r\n\ufeffb: 2\r\n\ufeff---\rc: 3\r")).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
  expect(read('{"a": 1,}\n')).toEqual([{ a: 1 }]);
});

test("a document that is larger than any release is refused before it is parsed", () => {
  expect(read(`a: 1\n---\nb: ${"x".repeat(4 * 1024 * 1024)}\n---\nc: 1\n`)).toEqual([
    { a: 1 },
    "3: one document of YAML has at most 4194304 characters",
    { c: 1 },
  ]);
});

test("a place is the line and column in the whole text, in YAML and in JSON", () => {
  const [one, two, three] = documentsIn('# a\na:\n  b: [1, 2]\n---\n{"a": 1}\n{"a":\n  {"b": [1, "x"]}}\n');
  expect(one?.placeOf(["a", "b", "1"])).toEqual({ line: 3, column: 10 });
  expect(one?.placeOf(["a", "c"])).toEqual({ line: 2, column: 1 });
  expect(two?.placeOf(["a"])).toEqual({ line: 5, column: 2 });
  expect(three?.placeOf(["a", "b", "1"])).toEqual({ line: 7, column: 13 });
  expect(three?.textAt(["a", "b", "1"])).toBe("x");
  expect(three?.textAt(["a", "c"])).toBeUndefined();
});

test.each([
  ["two documents", "a: 1\n---\nb: 2\n", "plan.yaml:3 begins a second document: give one in a file"],
  ["a second one that is none", "a: 1\n---\nb: [\n", "plan.yaml:4 begins a second document"],
  ["what is neither", "a: [\n", "plan.yaml:2 is neither YAML nor JSON: "],
  ["a key twice", "a: 1\na: 2\n", "plan.yaml:2 is a key that its map has already"],
])("a file of one document with %s is refused with its line", async (_, text, words) => {
  await expect(givenValue("plan.yaml", text)).rejects.toThrow(words);
});

const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n");
/** On a machine that is busy with other tests; what took minutes before takes a second. */
const MOST_CPU_MS = 20_000;

test.each([
  ["anchors", lines(60_000, (at) => `k${at}: &a${at} ${at}`)],
  ["anchors and aliases", lines(30_000, (at) => `k${at}: &a${at} ${at}\nl${at}: *a${at}`)],
  ["uses of one anchor", `a: &a {b: 1}\n${lines(60_000, (at) => `k${at}: *a`)}`],
  ["merges", `a: &a {b: 1}\nc:\n${lines(50_000, () => "  <<: *a")}`],
  ["keys", lines(60_000, (at) => `k${at}: ${at}`)],
  ["documents", "a: 1\n---\n".repeat(20_000)],
  ["objects of JSON", '{"a": 1}\n'.repeat(250_000)],
  ["objects of JSON that do not end", '{"a": '.repeat(60_000)],
  ["aliases of aliases", `a0: &a0 [x]\n${lines(60, (at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`)}`],
  ["digits", `a: ${"9".repeat(500_000)}`],
  ["brackets that nothing opens", "]".repeat(30_000)],
])(
  "a text of many %s takes time that grows with it alone",
  (_, text) => {
    const before = cpuMs();
    for (const { placeOf } of documentsIn(text).take(3)) placeOf(["a"]);
    // The rest is read as well.
    if (text.startsWith("{")) expect([...documentsIn(text)].length).toBeGreaterThan(0);
    expect(cpuMs() - before).toBeLessThan(MOST_CPU_MS);
  },
  120_000,
);
