import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AREAS } from "./areas.ts";
import { ROUTES } from "./table.ts";
import { ERRORS } from "./wire/errors.ts";
import type { Route } from "./wire/route.ts";

/** One line of the list of routes (testing/routes.tsv), which is kept apart from the table. */
interface Row {
  readonly area: string;
  readonly roles: readonly string[];
  readonly success: number;
  readonly errors: readonly number[];
  readonly paginated: boolean;
  readonly idempotentBy: string;
}

const rows = new Map<string, Row>();
for (const line of readFileSync(new URL("testing/routes.tsv", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .slice(1)) {
  const [method, path, area = "", roles = "", success, errors = "", paginated, idempotentBy = ""] = line.split("\t");
  rows.set(`${method} ${path}`, {
    area,
    roles: roles.split(",").sort(),
    success: Number(success),
    errors: errors.split(",").map(Number),
    paginated: paginated === "y",
    idempotentBy,
  });
}

const routes: (readonly [string, Route])[] = Object.values(ROUTES)
  .flatMap((area): Route[] => Object.values(area))
  .map((route) => [`${route.method} ${route.path}`, route]);

/** 404 for another manager's id is said in §15's first sentence, not in the list's column. */
const FOREIGN_MANAGER = new Set(["POST /v1/sync/list", "POST /v1/sync/acquire"]);

/** The list calls it by its longer name. */
const AUDIENCES: Readonly<Record<string, string>> = { ticket: "relay-ticket" };

describe("the table and the list of routes", () => {
  it.each(routes)("%s agrees with its line", (name, route) => {
    const row = rows.get(name);
    expect(row, "not in the list").toBeDefined();
    if (row === undefined) return;
    const roles = typeof route.roles === "string" ? [AUDIENCES[route.roles] ?? route.roles] : [...route.roles].sort();
    expect(roles).toEqual(row.roles);
    expect(route.success).toBe(row.success);
    expect(route.paginated ?? false).toBe(row.paginated);
    expect(route.repeat === "safe").toBe(row.idempotentBy === "safe");
    expect(route.repeat === "key").toBe(row.idempotentBy === "Idempotency-Key");
    for (const code of route.errors)
      if (!FOREIGN_MANAGER.has(name)) expect(row.errors, code).toContain(ERRORS[code].status);
  });

  it("names no route twice", () => {
    expect(new Set(routes.map(([name]) => name)).size).toBe(routes.length);
  });

  it("has every route of the areas that it serves", () => {
    const served = new Set(routes.map(([name]) => rows.get(name)?.area));
    const here = new Set(routes.map(([name]) => name));
    const missing = [...rows].filter(([name, { area }]) => served.has(area) && !here.has(name));
    expect(missing.map(([name]) => name)).toEqual([]);
  });

  it.each(routes)("%s says in one sentence what it does, and shows a secret only where it says so", (_, route) => {
    expect(route.summary).toMatch(/^[A-Z].{10,}\.$/);
    if (route.success === 204 || route.success === 101) expect(route.response).toBeUndefined();
    else expect(route.response).toBeDefined();
    for (const name of route.path.matchAll(/\{(\w+)\}/g)) {
      expect(Object.keys(route.params?.properties ?? {})).toContain(name[1]);
    }
  });
});

it("has the areas that are loaded alone, and no other", async () => {
  const loaded = await Promise.all(Object.entries(AREAS).map(async ([area, load]) => [area, await load()] as const));
  expect(loaded.map(([area]) => area)).toEqual(Object.keys(ROUTES));
  for (const [area, routes] of loaded) expect(routes).toBe(ROUTES[area as keyof typeof ROUTES]);
});
