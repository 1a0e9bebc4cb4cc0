import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { buildInfo, buildOf, processRegistry } from "./process-metrics.ts";

test("a checkout knows its version, and of no revision", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  expect(await buildOf()).toEqual({ version, revision: "unknown" });
});

test("the build is a series of the component, which is always 1", async () => {
  const registry = new Registry();
  buildInfo(registry, "agent", { version: "1.2.3", revision: "0a1b2c3" });
  expect(await registry.metrics()).toContain(
    `sallyport_agent_build_info{version="1.2.3",revision="0a1b2c3",node_version="${process.versions.node}"} 1`,
  );
});

test("a process tells of its memory and its event loop", async () => {
  const text = await processRegistry("operator", { version: "1.2.3", revision: "unknown" }).metrics();
  for (const name of ["process_resident_memory_bytes", "nodejs_eventloop_lag_p99_seconds"]) {
    expect(text).toMatch(new RegExp(`^${name} [0-9.e+-]+$`, "m"));
  }
});
