import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { metricCatalogue, seriesNames } from "../../scripts/generate/monitoring/metric-catalogue.ts";
import { PLATFORM_RULES } from "../../scripts/generate/monitoring/platform-rules.ts";
import { ALERT_CASES } from "./alert-cases.ts";
import { DASHBOARDS } from "./dashboard-files.ts";
import { labelValuesIn, metricsIn } from "./promql-names.ts";
import { RARE_PANELS } from "./rare-panels.ts";
import { ofKind, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";
import { usePromtool } from "./use-promtool.ts";

const CLUSTER_FILE = join(import.meta.dirname, "../../deploy/helm/sallyport/files/alerts.yaml");
const UNITS = ["short", "s", "bytes", "Bps", "reqps", "ops", "percentunit", "bool_yes_no"];
const groups = [...CLUSTER_RULES, ...PLATFORM_RULES];
const recorded = groups.flatMap((group) => group.recordings ?? []);
const helm = useHelm();
const promtool = usePromtool();
/** Prometheus's own. */
const known = new Set<string>(["ALERTS", ...recorded.map(({ record }) => record)]);

beforeAll(async () => {
  for (const metric of await metricCatalogue()) for (const name of seriesNames(metric)) known.add(name);
});

// biome-ignore lint/suspicious/noExplicitAny: Grafana's JSON, looked at field by field.
const dashboards = DASHBOARDS.map(({ file, dashboard }) => ({ file, dashboard: dashboard as any }));

test("each has an id and a title of its own", () => {
  for (const field of ["uid", "title"]) {
    expect(new Set(dashboards.map(({ dashboard }) => dashboard[field])).size).toBe(dashboards.length);
  }
});

describe.each(dashboards)("$file", ({ dashboard }) => {
  const all: readonly Rendered[] = dashboard.panels;
  const panels = all.filter(({ type }) => type !== "row");
  const expressions = panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }: { expr: string }) => ({ title, expr })),
  );

  test("has panels with ids of their own that do not lie on one another", () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const taken = new Map<string, string>();
    for (const { title, gridPos } of all) {
      const { x, y, w, h } = gridPos;
      expect(x + w, title).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column += 1) {
        for (let row = y; row < y + h; row += 1) {
          expect(taken.get(`${column}/${row}`), `${title} lies on`).toBeUndefined();
          taken.set(`${column}/${row}`, title);
        }
      }
    }
  });

  test("says of each panel what it shows, in a unit", () => {
    for (const { title, description, fieldConfig, datasource, targets } of panels) {
      expect(title).not.toBe("");
      expect(description, title).toMatch(/[.?]$/);
      expect(UNITS, title).toContain(fieldConfig.defaults.unit);
      expect([datasource.uid, ...targets.map((each: Rendered) => each.datasource.uid)], title).toEqual(
        Array(targets.length + 1).fill("$datasource"),
      );
      expect(fieldConfig.defaults.thresholds.steps[0].value, title).toBeNull();
    }
  });

  test("has the variables of all dashboards, and uses each", () => {
    const names = dashboard.templating.list.map(({ name }: { name: string }) => name);
    expect(["datasource", "cluster", "namespace", "job", "pod"].slice(0, names.length)).toEqual(names);
    expect(names.length).toBeGreaterThan(2);
    const text = JSON.stringify(all);
    for (const name of names) expect(new RegExp(`\\$${name}\\b`).test(text), name).toBe(true);
  });

  test("asks only what Prometheus understands", async () => {
    const rules = expressions.map(({ expr }, at) => ({
      record: `test:panel:${at}`,
      expr: everything(expr),
    }));
    for (const { expr } of rules) expect(expr).not.toContain("$");
    const file = await promtool.write("panels.yaml", { groups: [{ name: "panels", rules }] });
    const { code, output } = await promtool.checkRules(file);
    expect(output).toContain(`SUCCESS: ${expressions.length} rules found`);
    expect(code).toBe(0);
  });

  test("asks only for metrics that something sets", () => {
    for (const { title, expr } of expressions) {
      const names = metricsIn(expr);
      expect(names.length, title).toBeGreaterThan(0);
      for (const name of names) expect(known, title).toContain(name);
    }
  });
});

test("rules ask only for metrics that something sets", () => {
  const rules = groups.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]);
  for (const { expr } of rules) for (const name of metricsIn(expr)) expect(known, expr).toContain(name);
});

test("rules look only for values of labels that something sets", async () => {
  const labels = new Map<string, ReadonlyMap<string, readonly string[]>>();
  for (const metric of await metricCatalogue()) {
    for (const name of seriesNames(metric)) labels.set(name, new Map(Object.entries(metric.labels)));
  }
  const rules = groups.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]);
  const found = rules.flatMap(({ expr }) => labelValuesIn(expr));
  expect(found.length).toBeGreaterThan(10);
  const unset = found.filter(({ metric, label, value }) => {
    const values = labels.get(metric)?.get(label) ?? [];
    return values.length > 0 && !values.includes(value);
  });
  expect(unset).toEqual([]);
});

test("panels of rare faults have an answer when the fault is there", async () => {
  for (const [name, { filledBy }] of Object.entries(RARE_PANELS)) {
    const [file, title] = name.split(": ");
    const panels: readonly Rendered[] = dashboards.find((each) => each.file === file)?.dashboard.panels;
    const [{ expr }] = panels.find((each) => each.title === title).targets;
    const { at, fires } = ALERT_CASES[filledBy] ?? { at: "", fires: [] };
    const { output } = await promtool.testRules({
      rule_files: [CLUSTER_FILE],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: fires.map(([series, values]) => ({ series, values })),
          promql_expr_test: [
            {
              expr: `count(${everything(expr)}) > bool 0`,
              eval_time: at,
              exp_samples: [{ labels: "{}", value: 1 }],
            },
          ],
        },
      ],
    });
    expect(output, name).toContain("SUCCESS");
  }
});

describe("the chart hands the dashboards to Grafana's sidecar, as they are:", () => {
  const settings = { enabled: true, namespace: "grafana", annotations: { folder: "Sallyport" } };
  const maps = async (more: object) =>
    ofKind(await helm.render({ ...REQUIRED, metrics: { dashboards: { ...settings, ...more } } }), "ConfigMap");

  test.each<readonly [object, readonly string[]]>([
    [{}, ["sallyport-cluster"]],
    [{ fleet: true }, ["sallyport-cluster", "sallyport-fleet"]],
    [{ cluster: false, fleet: true }, ["sallyport-fleet"]],
    [{ fleet: true, enabled: false }, []],
  ])("%j", async (more, names) => {
    const found = await maps(more);
    expect(found.map(({ metadata }) => metadata.name)).toEqual(names);
    for (const { metadata, data } of found) {
      expect(metadata).toMatchObject({ namespace: "grafana", labels: { grafana_dashboard: "1" } });
      expect(metadata.annotations.folder).toBe("Sallyport");
      for (const [file, text] of Object.entries(data)) {
        expect(JSON.parse(String(text))).toEqual(dashboards.find((each) => each.file === file)?.dashboard);
      }
    }
  });

  test("none of them asks for what only the vendor's platform sets", async () => {
    const vendors = (await metricCatalogue())
      .filter(({ components }) => components.join() === "platform")
      .flatMap((metric) => seriesNames(metric));
    const recordings = PLATFORM_RULES.flatMap((group) => group.recordings ?? []).map(({ record }) => record);
    const found = await maps({ fleet: true });
    expect(found).toHaveLength(2);
    for (const { data } of found) {
      const text = JSON.stringify(data);
      expect([...vendors, ...recordings].filter((name) => new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
    }
  });
});

/** A query with the variables at All. */
function everything(expr: string): string {
  return expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(cluster|namespace|job|pod)\b/g, ".*");
}
