import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { PLATFORM_RULES } from "../../scripts/generate/monitoring/platform-rules.ts";
import type { AlertCase } from "./alert-case.ts";
import { ALERT_CASES } from "./alert-cases.ts";
import { one, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";
import { usePromtool } from "./use-promtool.ts";

const ROOT = join(import.meta.dirname, "../..");
const CLUSTER_FILE = join(ROOT, "deploy/helm/sallyport/files/alerts.yaml");
const PLATFORM_FILE = join(ROOT, "deploy/monitoring/platform-alerts.yaml");
const groups = [...CLUSTER_RULES, ...PLATFORM_RULES];
const alerts = groups.flatMap((group) => group.alerts ?? []);
const shipped: readonly Rendered[] = [CLUSTER_FILE, PLATFORM_FILE].flatMap(
  (file) => parse(readFileSync(file, "utf8")).groups,
);
const promtool = usePromtool();

describe("every rule", () => {
  test("is one for Prometheus", async () => {
    const { code, output } = await promtool.checkRules(CLUSTER_FILE, PLATFORM_FILE);
    expect(output).not.toMatch(/FAILED|duplicate/i);
    expect(code).toBe(0);
  });

  test("has a name of its own, and says what is wrong and what it means", () => {
    expect(new Set(alerts.map(({ name }) => name)).size).toBe(alerts.length);
    for (const { name, summary, description } of alerts) {
      expect(name).toMatch(/^Sallyport[A-Z]\w+$/);
      expect(summary, name).toMatch(/^[A-Z{].{10,120}\.$/);
      expect(description, name).toMatch(/\.$/);
    }
    for (const { record } of groups.flatMap((group) => group.recordings ?? [])) {
      expect(record).toMatch(/^cluster_namespace\w*:\w+:\w+$/);
    }
  });

  test("reads no alert, so that each can be judged without the others", () => {
    for (const { expr } of groups.flatMap(({ recordings = [], alerts: own = [] }) => [...recordings, ...own])) {
      expect(expr).not.toContain("ALERTS");
    }
  });

  test("keeps cluster and namespace", () => {
    for (const { recordings = [] } of groups) {
      for (const { record, expr } of recordings) expect(expr, record).toMatch(/by \(cluster, namespace/);
    }
  });
});

describe("each alert", () => {
  test("has a case", () => {
    expect(Object.keys(ALERT_CASES).sort()).toEqual(alerts.map(({ name }) => name).sort());
  });

  test.each(Object.entries(ALERT_CASES))("%s fires for its reason and not without", async (name, each) => {
    const { output } = await promtool.testRules({
      rule_files: [await alone(name)],
      evaluation_interval: "1m",
      tests: [expectation(name, each, "fires"), expectation(name, each, "quiet")],
    });
    expect(output).toContain("SUCCESS");
  });
});

describe("an alert on a process that is not there", () => {
  const downs = alerts.filter(({ expr }) => expr.includes("absent_over_time"));
  const texts = async (
    { name, severity, description, expr }: (typeof alerts)[number],
    labels: object,
    summary: string,
  ) => {
    const metric = /sallyport_\w+_build_info/.exec(expr)?.[0];
    const seen = Object.keys(labels).length > 0;
    const runbook_url = `https://sallyport.dev/docs/runbooks/${name}.md`;
    const exp_annotations = { summary, description, runbook_url };
    return promtool.testRules({
      rule_files: [await alone(name)],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: [
            seen
              ? { series: `${metric}{cluster="east",namespace="sallyport-system",pod="pod-0"}`, values: "1x5 _x60" }
              : { series: "up", values: "1x60" },
          ],
          alert_rule_test: [
            {
              alertname: name,
              eval_time: "30m",
              exp_alerts: [{ exp_labels: { ...labels, severity }, exp_annotations }],
            },
          ],
        },
      ],
    });
  };

  test("is there of all three", () => {
    expect(downs.map(({ name }) => name)).toEqual([
      "SallyportAgentDown",
      "SallyportOperatorDown",
      "SallyportPlatformDown",
    ]);
  });

  test.each(downs)("$name says where, if it ever was anywhere", async (alert) => {
    const [, what] = /^No Sallyport (\w+) is seen/.exec(alert.summary) ?? [];
    const place = { cluster: "east", namespace: "sallyport-system" };
    const known = await texts(alert, place, `No Sallyport ${what} is seen in sallyport-system.`);
    expect(known.output).toContain("SUCCESS");
    const never = await texts(alert, {}, `No Sallyport ${what} is seen.`);
    expect(never.output).toContain("SUCCESS");
  });
});

/** A file of the recordings and one alert, as they are: to evaluate the other alerts is most of promtool's time. */
function alone(name: string): Promise<string> {
  const left = shipped.map((group) => ({
    ...group,
    rules: group.rules.filter(({ alert = name }: Rendered) => alert === name),
  }));
  return promtool.write(`${name}.yaml`, { groups: left });
}

/** The alert as a series, with the labels that the person on call needs. */
function expectation(name: string, { at, labels = [], count = 1, ...series }: AlertCase, kind: "fires" | "quiet") {
  const present = labels.map((label) => `,${label}!=""`).join("");
  const expr = `count by (cluster, namespace) (ALERTS{alertname="${name}",alertstate="firing"${present}})`;
  const expected = { labels: '{cluster="east", namespace="sallyport-system"}', value: count };
  return {
    interval: "1m",
    input_series: series[kind].map(([metric, values]) => ({ series: metric, values })),
    promql_expr_test: [{ expr, eval_time: at, exp_samples: kind === "fires" ? [expected] : [] }],
  };
}

describe("the chart's PrometheusRule", () => {
  const helm = useHelm();
  const rendered = async (rules: object) =>
    one(
      await helm.render({ ...REQUIRED, metrics: { rules: { enabled: true, ...rules } } }),
      "PrometheusRule",
      "sallyport",
    ).spec.groups;

  test("holds the rules as they are", async () => {
    expect(await rendered({})).toEqual(parse(readFileSync(CLUSTER_FILE, "utf8")).groups);
  });

  test("takes the installer's word for an alert that it has", async () => {
    const own = { disabled: ["SallyportAgentDown"], severity: { SallyportClockSkew: "info" } };
    const found: readonly Rendered[] = (await rendered({ ...own, for: { SallyportClockSkew: "1h" } })).flatMap(
      ({ rules }: Rendered) => rules,
    );
    expect(found.map(({ alert }) => alert)).not.toContain("SallyportAgentDown");
    expect(found.find(({ alert }) => alert === "SallyportClockSkew")).toMatchObject({
      labels: { severity: "info" },
      for: "1h",
    });
  });

  test.each<readonly [string, object]>([
    ["disabled", { disabled: ["SallyportClockSkew", "SallyportAgentDwn"] }],
    ["severity", { severity: { SallyportAgentDwn: "info" } }],
    ["for", { for: { SallyportAgentDwn: "1h" } }],
    ["disabled", { disabled: ["SallyportPlatformDown"] }],
  ])("refuses a name in rules.%s that no alert of it has: %j", async (value, rules) => {
    const { code, stderr } = await helm.template({ ...REQUIRED, metrics: { rules: { enabled: true, ...rules } } });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      new RegExp(`metrics.rules.${value} names Sallyport(AgentDwn|PlatformDown), which is no alert`),
    );
    for (const { name } of CLUSTER_RULES.flatMap((group) => group.alerts ?? [])) expect(stderr).toContain(name);
  });
});
