import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { metricCatalogue } from "../../scripts/generate/monitoring/metric-catalogue.ts";
import { PLATFORM_RULES } from "../../scripts/generate/monitoring/platform-rules.ts";
import { DASHBOARDS, panelsOf } from "../chart/dashboard-files.ts";
import { metricsIn } from "../chart/promql-names.ts";
import { RARE_PANELS } from "../chart/rare-panels.ts";
import { usePromtool } from "../chart/use-promtool.ts";
import { eventually, signal } from "../world/wait.ts";
import { type Choice, ShownDashboard } from "./grafana.ts";
import { type MetricsWorld, startMetricsWorld } from "./metrics-world.ts";
import { judgeAlerts, type Scrape, scrapeOf } from "./replayed-alerts.ts";

const groups = [...CLUSTER_RULES, ...PLATFORM_RULES];
const recorded = groups.flatMap(({ recordings = [] }) => recordings.map(({ record }) => record));
const alerts = groups.flatMap((group) => group.alerts ?? []);
const promtool = usePromtool();
const stack = new AsyncDisposableStack();
const stop = new AbortController();
let metrics: MetricsWorld;
let began: Scrape;

/** For what Prometheus has after a few scrapes: a busy machine misses many. */
const LONG_MS = 240_000;

// One world and one story; each test reads another part of the result. Prometheus is asked for values alone: when an alert
// begins is a matter of minutes and of the machine, so promtool judges it, from what the processes showed.
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-metrics-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  metrics = await startMetricsWorld(folder, stack, stop.signal);
  stack.defer(() => stop.abort(new Error("the test is over")));
  began = await scrapeWith(metrics.targets.length);
  await metrics.approve(await metrics.ask(2));
  await metrics.approve(await metrics.ask(3));
  await metrics.deny(await metrics.ask(4));
}, 300_000);

afterAll(() => stack.disposeAsync(), 60_000);

test("every metric that a rule or a dashboard names is in a live scrape, with a value", async () => {
  const lines = (await Promise.all(metrics.targets.map(async ({ url }) => (await fetch(`${url}/metrics`)).text())))
    .join("\n")
    .split("\n");
  const scraped = new Set(lines.filter((line) => !line.startsWith("#")).map((line) => /^[\w:]+/.exec(line)?.[0]));
  const rules = groups.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]);
  const asked = new Set(
    [...rules, ...DASHBOARDS.flatMap(panelsOf).flatMap(({ targets = [] }) => targets)].flatMap(({ expr }) =>
      metricsIn(expr),
    ),
  );
  const own = [...asked].filter((name) => name !== "ALERTS" && !recorded.includes(name));
  expect(own.length).toBeGreaterThan(50);
  expect(own.filter((name) => !scraped.has(name))).toEqual([]);
});

test("every process sets every metric that the catalogue gives it, and no other", async () => {
  const catalogue = await metricCatalogue();
  for (const { job, url } of metrics.targets) {
    const component = job === "sallyport-machines" ? "machine-controller" : job.replace("sallyport-", "");
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
    LONG_MS,
  );
  expect(rules.filter(({ health, lastError }) => health !== "ok" || lastError)).toEqual([]);
  expect(rules).toHaveLength(groups.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]).length);
  for (const record of recorded) {
    await eventually(
      () => metrics.prometheus.query(record),
      (samples) => samples.length > 0,
      LONG_MS,
    );
  }
});

describe.each(DASHBOARDS)("$file as Grafana shows it", (each) => {
  const shown = (): ShownDashboard => new ShownDashboard(each, metrics.prometheus);
  /** Queries without an answer, by the panel's title; of a panel's further queries with their number. */
  const empty = async (choice: Choice = {}): Promise<readonly string[]> => {
    const names: string[] = [];
    for (const panel of panelsOf(each)) {
      for (const [at, count] of (await shown().answers(panel, choice)).entries()) {
        if (count === 0) names.push(at === 0 ? panel.title : `${panel.title}, query ${at + 1}`);
      }
    }
    return names.filter((name) => !alertPanels.includes(name));
  };
  /** A slow machine begins an alert; promtool fills these panels in dashboards.test.ts. */
  const alertPanels = panelsOf(each)
    .filter(({ targets = [] }) => targets.some(({ expr }) => metricsIn(expr).includes("ALERTS")))
    .map(({ title }) => title);
  const rare = Object.keys(RARE_PANELS)
    .filter((name) => name.startsWith(`${each.file}: `))
    .map((name) => name.slice(each.file.length + 2))
    .filter((name) => !alertPanels.includes(name));

  test("every drop-down offers what is there, and each narrows the next", async () => {
    const offers = await Promise.all(shown().variables.map(async (name) => [name, await shown().offered(name)]));
    expect(Object.fromEntries(offers)).toEqual(OFFERED[each.file]);
    const processes = OFFERED[each.file]?.job ?? [];
    for (const job of processes) {
      const pods = metrics.targets.filter((target) => target.job === job).map(({ pod }) => pod);
      expect(await shown().offered("pod", { job: [job] })).toEqual(pods);
    }
  });

  test("every panel has an answer with the drop-downs at All", async () => {
    await eventually(
      async () => {
        // For the panel of errors: a counter that appears on its first event grows with the second one.
        await metrics.world.engineer.accessRequests.get({ params: { id: "ar_none" } }, signal()).catch(() => undefined);
        return empty();
      },
      (queries) => queries.join() === rare.join(),
      LONG_MS,
    );
  });

  test("every panel has an answer with all values picked one by one, and with one of them alone", async () => {
    const offered = OFFERED[each.file] ?? {};
    const names = Object.keys(offered).filter((name) => offered[name]?.length !== 0);
    // An instant query has no answer where the last scrape was missed.
    const isRare = (queries: readonly string[]): boolean => queries.join() === rare.join();
    await eventually(
      () => empty(Object.fromEntries(names.map((name) => [name, offered[name] ?? []]))),
      isRare,
      LONG_MS,
    );
    for (const name of names) {
      const alone = async (): Promise<readonly string[]> => {
        const [first = [], ...others] = await Promise.all(
          (offered[name] ?? []).map((value) => empty({ [name]: [value] })),
        );
        // A query about operators has no answer with the agent's pod: it has one with another value.
        return first.filter((query) => others.every((queries) => queries.includes(query)));
      };
      await eventually(alone, isRare, LONG_MS);
    }
  });
});

/** What each drop-down has in this world; the vendor's Prometheus adds no label `cluster`. */
const OFFERED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "cluster.json": {
    cluster: ["east"],
    namespace: ["sallyport-system"],
    job: ["sallyport-agent", "sallyport-join", "sallyport-machines", "sallyport-operator", "sallyport-tunnel"],
    pod: ["agent-0", "join-0", "machines-0", "operator-0", "operator-b-0", "tunnel-0"],
  },
  "fleet.json": { cluster: ["east"], namespace: ["sallyport-system"] },
  "platform-dashboard.json": {
    cluster: [],
    namespace: ["vendor"],
    job: ["sallyport-platform"],
    pod: ["platform-0"],
  },
};

/** Of the machine's speed, and of a workload that no kubelet makes ready; alert-cases.ts has series for each. */
const NOT_JUDGED = ["SallyportEventLoopLag", "SallyportPlatformSlow", "SallyportResourceDegraded"];

test("nothing is wrong, so no alert even begins; then the platform goes, and the right ones do", async () => {
  const { prometheus, targets, world } = metrics;
  let healthy: Scrape = [];
  await eventually(
    async () => {
      healthy = await scrapeWith(targets.length);
      return (await judgeAlerts(promtool, [began, healthy], [], NOT_JUDGED)).output;
    },
    isSuccess,
    LONG_MS,
  );

  await world.processes.platform.kill();
  const wanted = [
    ...["SallyportControlPlaneDisconnected", "SallyportControlPlaneUnreachable"],
    ...["SallyportHeartbeatStale", "SallyportPlatformDown"],
  ];
  for (const name of wanted) {
    const expr = alerts.find((alert) => alert.name === name)?.expr ?? "";
    await eventually(
      () => prometheus.query(expr),
      (samples) => samples.length > 0,
      LONG_MS,
    );
  }
  // How many tries fail meanwhile is a matter of the machine too.
  const ignored = [...NOT_JUDGED, "SallyportErrorBudgetBurn"];
  await eventually(
    async () => (await judgeAlerts(promtool, [healthy, await scrapeWith(targets.length - 1)], wanted, ignored)).output,
    isSuccess,
    LONG_MS,
  );
}, 900_000);

function isSuccess(output: string): boolean {
  return output.includes("SUCCESS");
}

/** The first scrape that has so many processes: on a busy machine one misses some. */
function scrapeWith(processes: number): Promise<Scrape> {
  return eventually(
    () => scrapeOf(metrics.prometheus),
    (scrape) => scrape.filter(({ metric, value }) => metric.__name__ === "up" && value[1] === "1").length === processes,
    LONG_MS,
  );
}
