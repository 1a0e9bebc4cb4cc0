import fc from "fast-check";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { ERRORS, type ErrorCode } from "../../../contract/wire/errors.ts";
import { type Countable, platformMetrics } from "./metrics.ts";

const countable: Countable = {
  endpoints: [{ route: { method: "GET", path: "/v1/things/{id}" } }, { route: { method: "POST", path: "/v1/things" } }],
  sweeps: ["things"],
  connections: () => ({ busy: 1, waiting: 2, most: 3 }),
};

async function seriesOf(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics())
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.slice(0, line.lastIndexOf(" ")));
}

test("no request makes a series that was not there, but for the durations of the routes in the table", async () => {
  const registry = new Registry();
  const metrics = platformMetrics(registry, countable);
  const before = new Set(await seriesOf(registry));
  fc.assert(
    fc.property(
      fc.constantFrom("GET", "POST", "none", "TRACE"),
      fc.oneof(fc.constantFrom("/v1/things/{id}", "/v1/things"), fc.string()),
      fc.integer({ min: 100, max: 599 }),
      fc.constantFrom(...(Object.keys(ERRORS) as ErrorCode[])),
      (method, route, status, code) => {
        metrics.request(method, route, status, 0.1);
        metrics.refused(code);
      },
    ),
    { numRuns: runs(500) },
  );
  metrics.swept("things", "failed", new Date());
  const added = (await seriesOf(registry)).filter((series) => !before.has(series));
  expect(added.filter((series) => !series.startsWith("sallyport_http_request_duration_seconds"))).toEqual([]);
  const routes = new Set(added.map((series) => /route="([^"]*)"/.exec(series)?.[1]));
  expect([...routes].sort()).toEqual(["/v1/things", "/v1/things/{id}", "none"]);
});

test("every answer is counted under its route's template and the class of its status", async () => {
  const registry = new Registry();
  const metrics = platformMetrics(registry, countable);
  for (const status of [101, 200, 302, 404, 503]) metrics.request("GET", "/v1/things/{id}", status, 0.1);
  metrics.request("GET", "/wp-admin", 404, 0.1);
  const text = await registry.metrics();
  const line = (code_class: string): string =>
    `sallyport_http_requests_total{method="GET",route="/v1/things/{id}",code_class="${code_class}"}`;
  for (const each of [`${line("2xx")} 2`, `${line("3xx")} 1`, `${line("4xx")} 1`, `${line("5xx")} 1`]) {
    expect(text).toContain(each);
  }
  expect(text).toContain('sallyport_http_requests_total{method="none",route="none",code_class="4xx"} 1');
});

test("the database's connections are asked at each scrape", async () => {
  const registry = new Registry();
  platformMetrics(registry, countable);
  const text = await registry.metrics();
  for (const line of ["busy 1", "waiting 2", "max 3"]) {
    expect(text).toContain(`sallyport_database_connections_${line}\n`);
  }
});

test("a sweep that fails keeps the time of its last success", async () => {
  const registry = new Registry();
  const metrics = platformMetrics(registry, countable);
  metrics.swept("things", "ok", new Date(5_000));
  metrics.swept("things", "failed", new Date(9_000));
  const text = await registry.metrics();
  expect(text).toContain('sallyport_sweep_last_success_timestamp_seconds{sweep="things"} 5');
  expect(text).toContain('sallyport_sweeps_total{sweep="things",result="failed"} 1');
});
