import { expect, it } from "vitest";
import { ApiError } from "../../../api-client/api-error.ts";
import type { ParamsSchema } from "../../../plugins/params-schema.ts";
import type { CallRoute } from "../calling.ts";
import { fitParams, fittedParams, schemaOf } from "./fitted-params.ts";

const one = (schema: ParamsSchema, text: string): unknown => fittedParams({ properties: { a: schema } }, { a: text }).a;

it.each<[string, ParamsSchema, string, unknown]>([
  ["digits for a text", { type: "string" }, "2048", "2048"],
  ["a number for a text", { type: "string" }, "1e5", "1e5"],
  ["a word of JSON for a text", { type: "string" }, "true", "true"],
  ["nothing for a text", { type: "string" }, "null", "null"],
  ["a text in quotes", { type: "string" }, '"2048"', "2048"],
  ["a text with another pattern", { type: "string", pattern: "^[a-z]$" }, "2048", "2048"],
  ["one of several texts", { enum: ["1", "2"] }, "1", "1"],
  ["a number", { type: "integer" }, "5", 5],
  ["what is no number", { type: "integer" }, "five", "five"],
  ["a switch", { type: "boolean" }, "true", true],
  ["a number or a text", { type: ["integer", "string"] }, "5", 5],
  ["a list", { type: "array", items: { type: "integer" } }, "[80, 443]", [80, 443]],
  ["a list with commas", { type: "array", items: { type: "string" } }, "80,443", ["80", "443"]],
  ["a list of one", { type: "array", items: { type: "integer" } }, "80", [80]],
  ["an object", { type: "object" }, '{"b": 1}', { b: 1 }],
  ["anything", true, "5", 5],
])("%s", (_, schema, text, value) => {
  expect(one(schema, text)).toEqual(value);
});

it("without a schema, and of a param that it does not name, JSON is read as JSON", () => {
  expect(fittedParams(undefined, { a: "5", b: "x" })).toEqual({ a: 5, b: "x" });
  expect(fittedParams({ properties: {} }, { a: "5", toString: "1" })).toEqual({ a: 5, toString: 1 });
});

it("a plugin of the vendor's own is asked for in the deployment's project; what may not be read changes nothing", async () => {
  const { signal } = new AbortController();
  const operations = [{ name: "reindex", paramsSchema: { properties: { name: { type: "string" } } } }];
  const calls: unknown[] = [];
  const call: CallRoute = async (area, name, { query }) => {
    calls.push([area, name, query]);
    return { plugins: [{ name: "search", operations }] };
  };
  const schema = () => schemaOf("search/reindex", async () => "prj_1", call, signal);
  expect(await fitParams({ name: 1 }, { name: "1" }, schema)).toEqual({ name: "1" });
  expect(calls).toEqual([["operations", "listPlugins", { project: "prj_1" }]]);
  const refused: CallRoute = () => Promise.reject(new ApiError("FORBIDDEN", "no", { status: 403, retryable: false }));
  expect(await schemaOf("search/reindex", async () => "prj_1", refused, signal)).toBeUndefined();
  expect(
    await schemaOf("kubernetes/scale", () => Promise.reject(new Error("not asked")), refused, signal),
  ).toBeDefined();
  expect(await fitParams({ name: 1 }, undefined, schema)).toEqual({ name: 1 });
});
