import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { tunnelMetrics } from "./metrics.ts";

test("every series is there from the start, at 0", async () => {
  const registry = new Registry();
  const metrics = tunnelMetrics(registry);
  const before = await registry.metrics();
  expect(before).toContain('sallyport_debug_closed_total{reason="audit-failed"} 0');
  expect(before).toContain('sallyport_debug_denied_total{reason="impersonation"} 0');
  const names = (text: string) => text.split("\n").map((line) => line.slice(0, line.lastIndexOf(" ")));
  metrics.closed("killed", 3);
  metrics.denied("port");
  metrics.streamOpened("exec");
  metrics.bytes("in", 5);
  metrics.audited("durable", 2);
  metrics.uploaded("given-up");
  expect(names(await registry.metrics())).toEqual(names(before));
});
