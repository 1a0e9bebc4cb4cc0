import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { PLATFORM_RULES } from "../../scripts/generate/monitoring/platform-rules.ts";
import { ALERT_CASES, type AlertCase } from "./alert-cases.ts";
import { one, REQUIRED, useHelm } from "./use-helm.ts";
import { usePromtool } from "./use-promtool.ts";

const ROOT = join(import.meta.dirname, "../..");
const CLUSTER_FILE = join(ROOT, "deploy/helm/sallyport/files/alerts.yaml");
const PLATFORM_FILE = join(ROOT, "deploy/monitoring/platform-alerts.yaml");
const groups = [...CLUSTER_RULES, ...PLATFORM_RULES];
const alerts = groups.flatMap((group) => group.alerts ?? []);
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
      rule_files: [CLUSTER_FILE, PLATFORM_FILE],
      evaluation_interval: "1m",
      tests: [expectation(name, each, "fires"), expectation(name, each, "quiet")],
    });
    expect(output).toContain("SUCCESS");
  });
});

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
});
