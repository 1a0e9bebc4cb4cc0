import { Validator } from "@seriousme/openapi-schema-validator";
import type { TSchema } from "typebox";
import { Errors } from "typebox/value";
import { describe, expect, it } from "vitest";
import { ROUTES } from "../table.ts";
import { ERRORS } from "../wire/errors.ts";
import type { Route } from "../wire/route.ts";
import { EXAMPLES } from "./examples.ts";
import { openApi } from "./openapi.ts";
import { META_PATHS } from "./openapi-components.ts";

const document = openApi(ROUTES, "https://api.example.com");
const text = JSON.stringify(document);
const routes: readonly (readonly [string, Route])[] = Object.entries(ROUTES).flatMap(([area, table]) =>
  Object.entries(table).map(([name, route]): [string, Route] => [`${area}.${name}`, route]),
);

/** What the tests look into freely. */
// biome-ignore lint/suspicious/noExplicitAny: a test names the fields it means; a wrong one fails there.
const operationOf = (route: Route): any => document.paths[route.path]?.[route.method.toLowerCase()];

/** What a reference names. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
const resolve = (ref: string): any =>
  ref
    .slice(2)
    .split("/")
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);

describe("the OpenAPI document", () => {
  it("is OpenAPI 3.1, by the specification's own schemas", async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(text));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it("is the same text for the same table", () => {
    expect(JSON.stringify(openApi(ROUTES, "https://api.example.com"))).toBe(text);
  });

  it("names each operation once, and refers to nothing that is not there", () => {
    const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(routes.length + Object.keys(META_PATHS).length);
    const refs = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? ""));
    for (const ref of refs) expect(resolve(ref), ref).toBeDefined();
    expect(refs).toContain("#/components/schemas/AccessRequest");
    expect(refs).toContain("#/components/schemas/DeploymentListItem");
  });

  it.each(routes)("%s has its parameters, body, answers, errors and roles", (id, route) => {
    const found = operationOf(route);
    expect(found).toMatchObject({ operationId: id, summary: route.summary, "x-roles": route.roles });
    const named = found.parameters.filter((p: { name?: string }) => p.name !== undefined);
    const wanted = [...Object.keys(route.params?.properties ?? {}), ...Object.keys(route.query?.properties ?? {})];
    expect(named.map((p: { name: string }) => p.name)).toEqual(wanted);
    for (const [name] of route.path.matchAll(/(?<=\{)\w+(?=\})/g)) {
      expect(named).toContainEqual(expect.objectContaining({ name, in: "path", required: true }));
    }
    expect(found.requestBody === undefined).toBe(route.body === undefined);
    expect(found.responses[route.success]?.content === undefined).toBe(route.response === undefined);
    for (const code of route.errors) {
      const { description, content } = resolve(found.responses[ERRORS[code].status].$ref);
      expect(description).toContain(`\`${code}\`: ${ERRORS[code].message}`);
      expect(Object.keys(content["application/json"].examples)).toContain(code);
    }
    if (Array.isArray(route.roles)) for (const role of route.roles) expect(found.description).toContain(role);
    if (route.roles === "public") expect(found.security).toEqual([]);
    else expect(found.responses[401]).toBeDefined();
  });

  it("asks for a workspace and an Idempotency-Key where the platform reads them", () => {
    const refs = (route: Route) => JSON.stringify(operationOf(route).parameters);
    expect(refs(ROUTES.accessRequests.create)).toMatch(/parameters\/workspace.*parameters\/idempotencyKey/);
    expect(refs(ROUTES.projects.get)).not.toContain("idempotencyKey");
  });
});

it.each(Object.entries(EXAMPLES))("the example of %s is a call that works", (id, { body, response }) => {
  const route = new Map(routes).get(id);
  const problems = (schema: TSchema | undefined, value: unknown) =>
    value === undefined ? [] : schema === undefined ? ["no schema"] : Errors(schema, value);
  expect(problems(route?.body, body)).toEqual([]);
  expect(problems(route?.response, response)).toEqual([]);
});
