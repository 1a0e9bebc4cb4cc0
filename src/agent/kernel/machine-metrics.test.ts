import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { machineGauges } from "./machine-metrics.ts";

test("machines are counted by status, and the one that is silent for longest gives the age", async () => {
  const registry = new Registry();
  let machines = [
    { status: "ready", lastHeartbeat: "2026-01-01T11:59:55Z" },
    { status: "ready", lastHeartbeat: "2026-01-01T11:59:50Z" },
    { status: "unreachable", lastHeartbeat: "2026-01-01T11:50:00Z" },
  ] as const as readonly { status: "ready" | "unreachable"; lastHeartbeat: string }[];
  machineGauges(registry, () => machines, { wallNow: () => new Date("2026-01-01T12:00:00Z") });
  const text = await registry.metrics();
  expect(text).toContain('sallyport_machines{status="ready"} 2');
  expect(text).toContain('sallyport_machines{status="unreachable"} 1');
  expect(text).toContain('sallyport_machines{status="draining"} 0');
  expect(text).toContain("sallyport_machine_heartbeat_age_seconds 600");
  machines = [];
  const none = await registry.metrics();
  expect(none).toContain('sallyport_machines{status="ready"} 0');
  expect(none).toContain("sallyport_machine_heartbeat_age_seconds 0");
});
