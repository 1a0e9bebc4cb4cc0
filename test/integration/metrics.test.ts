import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { metricCatalogue } from "../../scripts/generate/monitoring/metric-catalogue.ts";
import { PLATFORM_RULES } from "../../scripts/generate/monitoring/platform-rules.ts";
import { metricsIn } from "../chart/promql-names.ts";
import { type MetricsWorld, startMetricsWorld } from "./metrics-world.ts";
import type { RuleState } from "./prometheus-server.ts";
import { eventually } from "./wait.ts";

const DASHBOARDS = join(import.meta.dirname, "../../deploy/helm/sallyport/files/dashboards");
const groups = [...CLUSTER_RULES, ...PLATFORM_RULES];
const recorded = groups.flatMap(({ recordings = [] }) => recordings.map(({ record }) => record));
const stack = new AsyncDisposableStack();
const stop = new AbortController();
let metrics: MetricsWorld;

// One world and one story; each test reads another part of the result.
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-metrics-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  metrics = await startMetricsWorld(folder, stack, stop.signal);
  stack.defer(() => stop.abort(new Error("the test is over")));
  await metrics.approve(await metrics.ask(2));
  await metrics.approve(await metrics.ask(3));
  await metrics.deny(await metrics.ask(4));
}, 300_000);

afterAll(() => stack.disposeAsync(), 60_000);

function panels(): readonly { readonly title: string; readonly expr: string }[] {
  return readdirSync(DASHBOARDS).flatMap((file) => {
    const { panels: all } = JSON.parse(readFileSync(join(DASHBOARDS, file), "utf8")) as {
      panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
    };
    return all.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title: `${file}: ${title}`, expr })));
  });
}

test("every metric that a rule or a dashboard names is in a live scrape, with a value", async () => {
  const lines = (await Promise.all(metrics.targets.map(async ({ url }) => (await fetch(`${url}/metrics`)).text())))
    .join("\n")
    .split("\n");
  const scraped = new Set(lines.filter((line) => !line.startsWith("#")).map((line) => /^[\w:]+/.exec(line)?.[0]));
  const rules = groups.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]);
  const asked = new Set([...rules, ...panels()].flatMap(({ expr }) => metricsIn(expr)));
  const own = [...asked].filter((name) => name !== "ALERTS" && !recorded.includes(name));
  expect(own.length).toBeGreaterThan(50);
  expect(own.filter((name) => !scraped.has(name))).toEqual([]);
});

test("every process sets every metric that the catalogue gives it, and no other", async () => {
  const catalogue = await metricCatalogue();
  for (const { job, url } of metrics.targets) {
    const component = job.replace("sallyport-", "");
    const text = await (await fetch(`${url}/metrics`)).text();
    const told = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    const wanted = catalogue.filter(({ components }) => components.some((each) => each === component));
    expect(told.toSorted(), job).toEqual(wanted.map(({ name }) => name).toSorted());
  }
});

test("every label's value is of the closed list that its metric began with", async () => {
  const closed = new Map((await metricCatalogue()).map(({ name, labels }) => [name, labels]));
  for (const { url } of metrics.targets) {
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const [series, name = "", labels = ""] of text.matchAll(/^(sallyport_\w+)\{([^}]*)\}/gm)) {
      const lists = closed.get(name.replace(/_(bucket|sum|count)$/, "")) ?? closed.get(name) ?? {};
      for (const [, label = "", value] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
        const values = lists[label] ?? [];
        const isOpen = name.endsWith("_build_info") || label === "le" || values.length === 0;
        // The API's codes are a list too; each appears when it is first used.
        if (!isOpen && label !== "code") expect(values, series).toContain(value);
      }
    }
  }
});

test("every rule is evaluated without an error, every recording has a value", async () => {
  const rules = await eventually(
    () => metrics.prometheus.rules(),
    (all) => all.every(({ health }) => health !== "unknown"),
  );
  expect(rules.filter(({ health, lastError }) => health !== "ok" || lastError)).toEqual([]);
  expect(rules).toHaveLength(groups.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]).length);
  for (const record of recorded) {
    await eventually(
      () => metrics.prometheus.query(record),
      (samples) => samples.length > 0,
    );
  }
});

test("every panel's question has an answer", async () => {
  const fill = (expr: string): string =>
    expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(cluster|namespace|job|pod)\b/g, ".*");
  const empty: string[] = [];
  for (const { title, expr } of panels()) {
    if ((await metrics.prometheus.query(fill(expr))).length === 0) empty.push(title);
  }
  expect(empty.filter((title) => !NOTHING_TO_SHOW.includes(title))).toEqual([]);
});

/**
 * Not shown in this story: expiry of keys that do not expire, alerts that do not fire, series that appear on their
 * first event, and sweeps in the first minute.
 */
const NOTHING_TO_SHOW = [
  "cluster.json: Alerts",
  "cluster.json: Runtime key ends in",
  "fleet.json: Alerts",
  "fleet.json: Commands refused",
  "fleet.json: Errors by code",
  "fleet.json: Sweeps",
  "fleet.json: Until runtime keys end",
];

test("nothing is wrong, so no alert even begins; then the platform goes, and the right ones do", async () => {
  const { prometheus, world } = metrics;
  const begun = async (): Promise<readonly string[]> =>
    (await prometheus.rules()).filter(isBegun).map(({ name }) => name);
  await eventually(begun, (names) => names.length === 0, 90_000);
  await world.processes.platform.kill();
  const wanted = ["SallyportControlPlaneDisconnected", "SallyportControlPlaneUnreachable", "SallyportHeartbeatStale"];
  const names = await eventually(begun, (found) => wanted.every((each) => found.includes(each)), 60_000);
  // The last one depends on the machine of the test.
  const expected = [...wanted, "SallyportPlatformDown", "SallyportErrorBudgetBurn", "SallyportEventLoopLag"];
  expect(names.filter((name) => !expected.includes(name))).toEqual([]);
});

function isBegun({ type, state }: RuleState): boolean {
  return type === "alerting" && state !== "inactive";
}
