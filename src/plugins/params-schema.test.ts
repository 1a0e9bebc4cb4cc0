import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BUILTIN_PLUGINS } from "../contract/operations/builtin-plugins.ts";
import { paramsIssues } from "./params-fit.ts";
import { type ParamsSchema, schemaFaults } from "./params-schema.ts";
import { PatternJudge } from "./stranger-pattern.ts";

const faults = (schema: unknown) =>
  schemaFaults(schema, "", new PatternJudge()).map(({ path, message }) => `${path} ${message}`);
const of = (properties: object) => ({ type: "object", properties: properties as Record<string, ParamsSchema> });
const nested = (levels: number): object => (levels === 0 ? {} : { items: nested(levels - 1) });
const times = <T>(count: number, each: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => each(index));

/** 2^levels steps for who follows it: two ways to the same definition on each level. */
function doubled(levels: number): object {
  const next = (level: number) => ({ allOf: [{ $ref: `#/$defs/l${level}` }, { $ref: `#/$defs/l${level}` }] });
  const $defs = Object.fromEntries(
    times(levels, (level) => [`l${level}`, level === levels - 1 ? {} : next(level + 1)]),
  );
  return { type: "object", ...next(0), $defs };
}

describe("a stranger's params schema", () => {
  it.each(
    BUILTIN_PLUGINS.flatMap(({ operations }) => operations.map(({ name, paramsSchema }) => [name, paramsSchema])),
  )("may be what %s has", (_, schema) => {
    expect(faults(schema)).toEqual([]);
  });

  it("may have every allowed keyword", () => {
    const schema = of({
      a: {
        type: ["string", "null"],
        minLength: 1,
        maxLength: 9,
        pattern: "^a",
        format: "date",
        enum: ["a", 1, true, null],
      },
      b: { type: "integer", minimum: 0, maximum: 9, exclusiveMinimum: -1, exclusiveMaximum: 10, multipleOf: 0.5 },
      c: { type: "array", items: { const: 1 }, minItems: 0, maxItems: 256, uniqueItems: true },
      d: {
        ...of({}),
        required: ["x"],
        additionalProperties: false,
        propertyNames: { maxLength: 3 },
        minProperties: 0,
        maxProperties: 3,
      },
      e: { allOf: [true], anyOf: [{}], oneOf: [{ type: "string" }], not: { const: "no" }, "x-note": { $ref: "#" } },
      f: { title: "f", description: "f", default: { $ref: "#" }, examples: [1], deprecated: true, $comment: "f" },
    });
    expect(faults({ ...schema, $schema: "https://json-schema.org/draft/2020-12/schema" })).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ["not of objects", { type: "string" }, " must have type object"],
    ["a list", [], " must have type object"],
    ["doubled references, 40 deep", doubled(40), "/allOf/0/$ref is not allowed: a params schema is written out"],
    ["a remote reference", of({ a: { $ref: "https://example.com/s" } }), "/properties/a/$ref is not allowed"],
    ["a dynamic reference", of({ a: { $dynamicRef: "#a" } }), "/properties/a/$dynamicRef is not allowed"],
    ["definitions", { type: "object", $defs: {} }, "/$defs is not allowed"],
    ["an identity", { type: "object", $id: "a" }, "/$id is not allowed"],
    [
      "key patterns",
      { type: "object", patternProperties: { "(a+)+$": true } },
      "/patternProperties is not allowed: the",
    ],
    ["what is left over", { type: "object", unevaluatedProperties: false }, "/unevaluatedProperties is not allowed"],
    ["dependent schemas", { type: "object", dependentSchemas: {} }, "/dependentSchemas is not allowed"],
    ["a condition", { type: "object", if: true }, "/if is not allowed"],
    ["a count of matches", of({ a: { contains: true } }), "/properties/a/contains is not allowed"],
    ["our validator's own word", { type: "object", "~refine": [] }, "/~0refine is not allowed"],
    ["a prototype's word", { type: "object", constructor: 1 }, "/constructor is not allowed"],
    ["another form of items", of({ a: { items: [] } }), "/properties/a/items must be a schema"],
    ["a bad type", of({ a: { type: "text" } }), "/properties/a/type must be of object, array"],
    ["an object in an enum", of({ a: { enum: [{}] } }), "/properties/a/enum must be a list of strings"],
    ["an object as the only value", of({ a: { const: {} } }), "/properties/a/const must be a string"],
    ["a broken pattern", of({ a: { pattern: "(" } }), "/properties/a/pattern does not compile"],
    ["a lookahead", of({ a: { pattern: "(?=a)" } }), "/properties/a/pattern has a lookahead, which RE2 lacks"],
    ["a costly pattern", of({ a: { pattern: "(a{1000}){1000}" } }), "/properties/a/pattern has 1000000 positions"],
    ["an unknown format", of({ a: { format: "regex" } }), "/properties/a/format must be one of date-time"],
    ["unique items without end", of({ a: { uniqueItems: true } }), "/properties/a/uniqueItems must be true or false"],
    ["too many unique items", of({ a: { uniqueItems: true, maxItems: 257 } }), "/properties/a/uniqueItems must be"],
    ["a negative length", of({ a: { maxLength: -1 } }), "/properties/a/maxLength must be a whole number"],
    ["no alternatives", of({ a: { anyOf: [] } }), "/properties/a/anyOf must be a list of schemas"],
    [
      "33 alternatives",
      of({ a: { anyOf: times(33, () => ({})) } }),
      "/properties/a/anyOf/32 is too much: at most 32 of allOf",
    ],
    [
      "33 in four places",
      of({ a: { anyOf: times(11, () => ({ not: { oneOf: [{}] } })) } }),
      "/anyOf/10/not/oneOf/0 is too much",
    ],
    [
      "257 schemas",
      of(Object.fromEntries(times(256, (index) => [`p${index}`, {}]))),
      "/properties/p255 is too much: at most 256 schemas",
    ],
    [
      "257 values",
      of({ a: { enum: times(200, String) }, b: { enum: times(57, String) } }),
      "/properties/b/enum is too much",
    ],
    [
      "257 required names",
      of({ a: { required: times(200, String) }, b: { required: times(57, String) } }),
      "/properties/b/required is too much: at most 256 required names",
    ],
    ["a type again", of({ a: { type: ["null", "null"] } }), "/properties/a/type must be of object, array"],
    ["17 levels", of({ a: nested(16) }), "/items is nested deeper than 16 schemas"],
    [
      "a deep note",
      { type: "object", default: JSON.parse("[".repeat(2000) + "]".repeat(2000)) },
      " nests deeper than 64",
    ],
    ["65 KiB", { type: "object", $comment: "x".repeat(64 * 1024) }, "bytes, at most 65536"],
  ])("%s: is refused, with the place", (_, schema, fault) => {
    expect(faults(schema).join("\n")).toContain(fault);
  });

  it("is refused with few words, however much is wrong with it", () => {
    const wide = { type: "object", allOf: times(5000, () => ({ anyOf: times(10, () => ({})) })) };
    expect(faults(of({ a: wide }))).toHaveLength(1);
  });
});

describe("what does not fit", () => {
  const issues = (schema: ParamsSchema, value: unknown) =>
    paramsIssues(schema, value, "", new PatternJudge()).map(({ path, message }) => `${path} ${message}`);

  it.each<[ParamsSchema, unknown, string[]]>([
    [true, 1, []],
    [false, 1, [" is not allowed"]],
    [{ type: "integer" }, 1.5, [" must be integer"]],
    [{ type: ["integer", "null"] }, null, []],
    [{ enum: ["a", null] }, null, []],
    [{ enum: ["a", 2, null] }, "b", [" must be one of a, 2, null"]],
    [{ enum: ["x".repeat(99)] }, "b", [` must be one of ${"x".repeat(48)}…`]],
    [
      { enum: Array.from({ length: 22 }, (_, i) => i) },
      -1,
      [` must be one of ${Array.from({ length: 20 }, (_, i) => i).join(", ")} and 2 more`],
    ],
    [{ const: null }, 0, [" must be null"]],
    [{ maximum: 1 }, 2, [" must be <= 1"]],
    [{ exclusiveMinimum: 1 }, 1, [" must be > 1"]],
    [{ multipleOf: 0.1 }, 0.3, []],
    [{ multipleOf: 2 }, 3, [" must be a multiple of 2"]],
    [{ maxLength: 1 }, "😀", []],
    [{ minLength: 2 }, "😀", [" must have at least 2 characters"]],
    [{ format: "ipv4" }, "1.2.3", [" must be of format ipv4"]],
    [{ pattern: "^(a+)+$" }, `${"a".repeat(4000)}!`, [" must match ^(a+)+$"]],
    [{ items: { type: "string" } }, ["a", 1], ["/1 must be string"]],
    [{ maxItems: 1 }, [1, 2], [" must have at most 1 items"]],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [" must have no item twice"],
    ],
    [{ required: ["toString"] }, {}, ["/toString is required"]],
    [{ properties: { "a/b": { type: "string" } } }, { "a/b": 1 }, ["/a~1b must be string"]],
    [
      { properties: { a: true }, additionalProperties: false },
      { a: 1, constructor: 1 },
      ["/constructor is not a known key"],
    ],
    [{ additionalProperties: { type: "string" } }, { a: 1 }, ["/a must be string"]],
    [{ propertyNames: { pattern: "^a" } }, { b: 1 }, ["/b must match ^a"]],
    [{ maxProperties: 0 }, { b: 1 }, [" must have at most 0 keys"]],
    [{ allOf: [{ minimum: 2 }, { multipleOf: 2 }] }, 1, [" must be >= 2", " must be a multiple of 2"]],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, 1, [" must fit one of its schema's alternatives"]],
    [{ oneOf: [{ minimum: 0 }, { maximum: 9 }] }, 1, [" must fit exactly one of its schema's alternatives"]],
    [{ not: { const: 1 } }, 1, [" must not fit what its schema excludes"]],
    [{ minimum: 5 }, "a", []],
  ])("%j: %j", (schema, value, expected) => {
    expect(issues(schema, value)).toEqual(expected);
  });

  it("is told up to 50 times", () => {
    const schema = { items: { required: times(256, String) } };
    expect(
      issues(
        schema,
        times(1000, () => ({})),
      ),
    ).toHaveLength(50);
  });

  it("looks at a value as often as there are alternatives, whatever the schema is", () => {
    const schema: fc.Arbitrary<ParamsSchema> = fc.letrec<{ schema: ParamsSchema }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        fc.constant({ const: 1 }),
        fc.record({ items: tie("schema") }),
        fc.record({
          properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema")),
          additionalProperties: tie("schema"),
        }),
        ...(["allOf", "anyOf", "oneOf"] as const).map((name) =>
          fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((all): ParamsSchema => ({ [name]: all })),
        ),
      ),
    })).schema;
    fc.assert(
      fc.property(schema, fc.jsonValue({ maxDepth: 4 }), (inner, value) => {
        const whole = of({ a: inner });
        if (faults(whole).length > 0) return;
        let looks = 0;
        const counted = new Proxy(
          { a: value },
          {
            get: (target, name) => {
              looks += 1;
              return Reflect.get(target, name);
            },
          },
        );
        paramsIssues(whole, counted, "", new PatternJudge());
        expect(looks).toBeLessThanOrEqual(1 + 32);
      }),
    );
  });
});
