import fc from "fast-check";
import Type from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, it } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { HumanLine, HumanText, Maybe, Nullable, Strict, Timestamp, Words } from "../../../contract/wire/schema.ts";
import { misfits } from "./misfits.ts";
import { Checker, convertQuery } from "./syntax.ts";

it("text with a character that a person cannot see is refused in words, not by a pattern", () => {
  for (const [schema, text] of [
    [HumanLine(1, 9), "a\u202eb"],
    [HumanLine(1, 9), "a\nb"],
    [HumanText(1, 9), "a\u0007b"],
  ] as const) {
    const message = "has an invisible or control character";
    expect(new Checker("body", Strict({ title: schema })).issues({ title: text })).toEqual([
      { path: "body.title", message },
    ]);
  }
});

describe("instants", () => {
  const checker = new Checker("body", Timestamp);
  it.each([
    ["2026-01-01T00:00:00Z", true],
    ["2026-01-01T00:00:00.123456789+14:00", true],
    ["2024-02-29T23:59:59.999-00:30", true],
    ["2023-02-29T00:00:00Z", false],
    ["2026-01-01T24:00:00Z", false],
    ["2026-01-01T00:00:60Z", false],
    ["2026-01-01 00:00:00Z", false],
    ["2026-01-01T00:00:00", false],
    ["2026-01-01", false],
    ["0000-06-01T00:00:00Z", false],
    ["0001-01-01T00:00:00+01:00", false],
    ["9999-12-31T23:59:59-01:00", false],
    ["2026-01-01T00:00:00Z[Europe/Berlin]", false],
  ])("%s: %s", (text, sound) => {
    expect(checker.issues(text).length === 0).toBe(sound);
  });

  it("every date that it takes is one that SQL and JSON can write", () => {
    const part = (max: number, width = 2) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(width, "0"));
    const text = fc
      .tuple(part(9999, 4), part(13), part(32), part(24), part(60), part(60))
      .map(([y, mo, d, h, mi, s]) => `${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
    fc.assert(
      fc.property(text, (each) => {
        if (checker.issues(each).length === 0) expect(new Date(each).toISOString()).toMatch(/^\d{4}-/);
      }),
    );
  });
});

describe("issues", () => {
  const schema = Strict({
    a: Type.Array(Strict({ b: Type.Integer({ maximum: 9 }) })),
    n: Type.Optional(Nullable(Type.String({ maxLength: 3 }))),
  });
  const paths = (value: unknown) => new Checker("body", schema).issues(value).map(({ path }) => path);

  it.each([
    [{ a: [{ b: 10 }] }, ["body.a.0.b"]],
    [{ a: [{ b: 1 }, {}] }, ["body.a.1.b"]],
    [{ a: [{ b: 1, c: 2 }] }, ["body.a.0.c"]],
    [{}, ["body.a"]],
    [{ a: [], "x/y~z": 1 }, ["body.x/y~z"]],
    [{ a: [{ b: "\u0000" }] }, ["body.a.0.b"]],
  ])("%j names %j", (value, expected) => {
    expect(paths(value)).toEqual(expected);
  });

  it("are those of the library's own search", () => {
    const wide = Strict({
      list: Type.Array(
        Type.Union([Strict({ kind: Type.Literal("a"), n: Type.Integer() }), Type.String({ maxLength: 2 })]),
        {
          maxItems: 3,
        },
      ),
      map: Type.Optional(Type.Record(Type.String(), Nullable(Type.Array(Type.Integer())))),
      more: Type.Optional(schema),
    });
    const anything = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(1, 1.5, "a", "abc", null, true),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom("list", "map", "more", "a", "b", "n", "kind", "x/y"), tie("value")),
      ),
    })).value;
    fc.assert(
      fc.property(anything, (value) => {
        const seen = (errors: Iterable<{ instancePath: string; keyword: string; message: string }>) =>
          [...errors].map(({ instancePath, keyword, message }) => `${instancePath} ${keyword} ${message}`).sort();
        const [ours, theirs] = [seen(misfits(wide, value)), seen(Compile(wide).Errors(value))];
        const isSaid = (line: string) => !/ (anyOf|boolean) /.test(line);
        // Less of unions: what the value cannot have meant is left out.
        expect(theirs).toEqual(expect.arrayContaining(ours.filter(isSaid)));
        expect(ours.length > 0).toBe(theirs.length > 0);
      }),
      { numRuns: runs(2000) },
    );
  });

  it("are of the alternative that the value means, and name what a closed list has", () => {
    const choice = Type.Union([
      Strict({ kind: Type.Literal("a"), n: Type.Integer() }),
      Strict({ kind: Type.Literal("b"), text: Type.String() }),
      Type.Null(),
      Words(["none", "all"]),
    ]);
    const checker = new Checker("body", Strict({ of: Type.Optional(choice), maybe: Maybe(Type.Integer()) }));
    const said = (value: unknown) => checker.issues(value).map(({ path, message }) => `${path} ${message}`);
    expect(said({ of: 7 })).not.toContain("body.of must be null");
    expect(said({ of: [] }).length).toBeGreaterThan(0);
    expect(said({ of: { kind: "a", n: "1" } })).toEqual(["body.of.n must be integer"]);
    expect(said({ of: { kind: "b" } })).toEqual(["body.of.text is required"]);
    expect(said({ of: { kind: "c", n: 1 } })).toEqual(["body.of.kind must be one of a, b"]);
    expect(said({ of: {} })).toEqual(["body.of.kind is required"]);
    expect(said({ of: "some" })).toEqual(["body.of must be one of none, all"]);
    expect(said({ maybe: "1" })).toEqual(["body.maybe must be integer"]);
  });

  it("are searched no further than the caller wants", () => {
    let reads = 0;
    const sound = {
      get b() {
        reads += 1;
        return 1;
      },
    };
    const value = { a: [{ b: "no" }, ...Array.from({ length: 1000 }, () => sound)] };
    expect(misfits(schema, value).next().value?.instancePath).toBe("/a/0/b");
    expect(reads).toBe(0);
  });

  it("are never more than fifty", () => {
    expect(paths({ a: Array.from({ length: 500 }, () => ({ b: "no" })) }).length).toBeLessThanOrEqual(50);
  });

  const free = new Checker("body", Type.Unknown());
  const nested = (levels: number, innermost: unknown) => {
    let deep = innermost;
    for (let level = 0; level < levels; level += 1) deep = [deep];
    return deep;
  };

  it("a value nested deeper than any record is refused, and read no further", () => {
    expect(free.issues(nested(64, 1))).toEqual([]);
    expect(free.issues(nested(65, 1))).toEqual([{ path: "body", message: "is nested deeper than 64" }]);
    expect(free.issues(nested(500_000, []))).toHaveLength(1);
  });

  it("more values than a record has are refused, and read no further", () => {
    let reads = 0;
    const element = {
      get a() {
        reads += 1;
        return 1;
      },
    };
    const many = (count: number) => Array.from({ length: count }, () => element);
    expect(free.issues(many(50_000))).toEqual([]);
    expect(free.issues(many(50_001))).toEqual([{ path: "body", message: "has more than 100000 values" }]);
    reads = 0;
    expect(free.issues(many(500_000))).toHaveLength(1);
    expect(free.issues(Object.fromEntries(many(100_001).map((one, index) => [index, one])))).toHaveLength(1);
    expect(reads).toBe(0);
  });

  it("an object of more keys than a record has is refused, and read no further", () => {
    const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
    expect(free.issues({ a: names(4096) })).toEqual([]);
    expect(free.issues({ a: names(4097) })).toEqual([{ path: "body.a", message: "has more than 4096 keys" }]);
  });

  it("of names that no schema knows, as many are collected as an answer shows", () => {
    const unknown = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`k${at}`, 1]));
    const strict = Type.Object({ a: Type.Optional(Type.Number()) }, { additionalProperties: false });
    for (const one of [strict, Type.Union([strict, Type.Null()])]) {
      const named = [...misfits(one, unknown)].flatMap((error) =>
        error.keyword === "additionalProperties" ? error.params.additionalProperties : [],
      );
      expect(named).toHaveLength(50);
      expect(new Checker("body", one).issues(unknown)).toHaveLength(50);
    }
  });

  it("names the place of what can be neither stored nor sent again", () => {
    expect(free.issues({ a: [1, { "b/c": "\ud800" }] })).toEqual([
      { path: "body.a.1.b/c", message: "contains NUL or a lone surrogate" },
    ]);
    expect(free.issues([{ "\u0000": 1 }])).toEqual([
      { path: "body.0", message: "has a key with NUL or a lone surrogate" },
    ]);
    expect(free.issues(JSON.parse('{"a":[1e308,-1e400]}'))).toEqual([
      { path: "body.a.1", message: "is beyond all numbers" },
    ]);
  });
});

it("a query becomes what its schema says", () => {
  const schema = Type.Object({
    limit: Type.Optional(Type.Integer({ default: 20 })),
    live: Type.Optional(Type.Boolean()),
    state: Type.Optional(Type.Array(Type.String())),
    sizes: Type.Optional(Type.Array(Type.Integer())),
    name: Type.Optional(Type.String()),
  });
  const read = (query: string) => convertQuery(schema, new URLSearchParams(query));
  expect(read("")).toEqual({ limit: 20 });
  expect(read("limit=5&live=true&name=7&other=1")).toEqual({ limit: 5, live: true, name: "7" });
  expect(read("state=a,b&state=c&sizes=1,2")).toEqual({ limit: 20, state: ["a", "b", "c"], sizes: [1, 2] });
  expect(read("limit=1e3&live=yes")).toEqual({ limit: "1e3", live: "yes" });
});

it("of alternatives with a word each, the one that is meant is explained, or the one for every other word", () => {
  const of = (type: Type.TSchema, field: object) => Type.Object({ type, ...field });
  const schema = Type.Union([
    of(Type.Literal("a"), { n: Type.Integer() }),
    of(Type.Literal("b"), { m: Type.Integer() }),
    of(Type.String({ pattern: "^(?!(a|b)$)" }), { o: Type.Integer() }),
  ]);
  const paths = (value: unknown) => new Checker("body", schema).issues(value).map(({ path }) => path);
  expect(paths({ type: "a" })).toEqual(["body.n"]);
  expect(paths({ type: "b", m: "1" })).toEqual(["body.m"]);
  expect(paths({ type: "c" })).toEqual(["body.o"]);
  expect(paths({ o: 1 })).toEqual(["body.type"]);
});
