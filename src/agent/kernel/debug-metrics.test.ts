import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { debugGauges } from "./debug-metrics.ts";

test("sessions are counted by state, and one that is open after its end is overdue", async () => {
  const registry = new Registry();
  const now = new Date("2026-01-01T12:00:00Z");
  const session = (state: "Open" | "Closing" | "Closed", until: string) => ({ status: { state, until } });
  const sessions = [
    session("Open", "2026-01-01T12:30:00Z"),
    session("Open", "2026-01-01T11:59:30Z"),
    session("Open", "2026-01-01T11:58:59Z"),
    session("Closing", "2026-01-01T11:00:00Z"),
    session("Closed", "2026-01-01T11:00:00Z"),
    {},
  ];
  debugGauges(registry, ["logs"], () => sessions, { wallNow: () => now });
  const text = await registry.metrics();
  expect(text).toContain('sallyport_debug_sessions{state="Open"} 3');
  expect(text).toContain('sallyport_debug_sessions{state="Pending"} 1');
  expect(text).toContain('sallyport_debug_sessions{state="Refused"} 0');
  expect(text).toContain("sallyport_debug_sessions_overdue 2");
  expect(text).toContain('sallyport_debug_mode_enabled{mode="logs"} 1');
  expect(text).toContain('sallyport_debug_mode_enabled{mode="exec"} 0');
});
