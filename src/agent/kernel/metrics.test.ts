import fc from "fast-check";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { ERRORS } from "../../contract/wire/errors.ts";
import { agentMetrics } from "./metrics.ts";

const SETTINGS = { heartbeatIntervalMs: 60_000 };

const attempt = {
  area: "sync",
  route: "list",
  status: 200,
  code: undefined,
  retryAfterMs: undefined,
  durationMs: 12,
  sentBytes: 3,
  receivedBytes: 4,
  header: () => undefined,
};

async function seriesOf(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics())
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.slice(0, line.lastIndexOf(" ")));
}

test("every series is there from the start, and a hostile platform makes no more of them", async () => {
  const registry = new Registry();
  const metrics = agentMetrics(registry, () => [], SETTINGS);
  const before = await seriesOf(registry);
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.integer({ min: 0, max: 599 }),
      fc.string(),
      (area, route, status, text) => {
        const code = `INVENTED_${text}`;
        metrics.attempted({ ...attempt, area, route, status, code });
        metrics.commandEnded("FAILED", code);
      },
    ),
    { numRuns: runs(500) },
  );
  expect(await seriesOf(registry)).toEqual(before);
});

test("the platform's own codes make a series each, and no more than that", async () => {
  const registry = new Registry();
  const metrics = agentMetrics(registry, () => [], SETTINGS);
  const before = new Set(await seriesOf(registry));
  for (const code of Object.keys(ERRORS)) {
    for (const status of [400, 500]) metrics.attempted({ ...attempt, status, code });
  }
  const added = (await seriesOf(registry)).filter((series) => !before.has(series));
  expect(added).toHaveLength(2 * Object.keys(ERRORS).length);
  expect(added.every((series) => series.startsWith("sallyport_controlplane_requests_total{"))).toBe(true);
});

test("grants are counted at each scrape", async () => {
  const registry = new Registry();
  const states: ("Pending" | "Approved")[] = ["Pending", "Approved", "Approved"];
  agentMetrics(registry, () => states, SETTINGS);
  expect(await registry.metrics()).toContain('sallyport_grants{state="Approved"} 2');
  states.pop();
  expect(await registry.metrics()).toContain('sallyport_grants{state="Approved"} 1');
  expect(await registry.metrics()).toContain('sallyport_grants{state="Revoked"} 0');
});

test("requests are told by route, class and code, refused keys by reason", async () => {
  const registry = new Registry();
  const metrics = agentMetrics(registry, () => [], SETTINGS);
  metrics.attempted(attempt);
  metrics.attempted({ ...attempt, status: 0, code: "NETWORK_ERROR" });
  metrics.attempted({ ...attempt, status: 401, code: "API_KEY_REVOKED" });
  const text = await registry.metrics();
  expect(text).toContain('sallyport_controlplane_requests_total{route="sync.list",code_class="2xx",code=""} 1');
  expect(text).toContain(
    'sallyport_controlplane_requests_total{route="sync.list",code_class="none",code="NETWORK_ERROR"} 1',
  );
  expect(text).toContain('sallyport_controlplane_auth_failures_total{reason="revoked"} 1');
});
