import { Registry } from "prom-client";
import { expect, test } from "vitest";
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

test("every series is there from the start, and a hostile platform makes no more of them", async () => {
  const registry = new Registry();
  const metrics = agentMetrics(registry, () => [], SETTINGS);
  const series = async (): Promise<number> =>
    (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
  const before = await series();
  for (let n = 0; n < 50; n += 1) {
    metrics.attempted({ ...attempt, area: `area${n}`, route: "x", status: 400, code: `INVENTED_${n}` });
    metrics.commandEnded("FAILED", `INVENTED_${n}`);
  }
  expect(await series()).toBe(before);
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
