import { CLUSTER_DASHBOARD } from "./cluster-dashboard.ts";
import { CLUSTER_RULES } from "./cluster-rules.ts";
import { FLEET_DASHBOARD } from "./fleet-dashboard.ts";
import { metricCatalogue } from "./metric-catalogue.ts";
import { metricsPage } from "./metrics-page.ts";
import { dashboardFile } from "./panel.ts";
import { PLATFORM_DASHBOARD } from "./platform-dashboard.ts";
import { PLATFORM_RULES } from "./platform-rules.ts";
import { ruleFile } from "./rule.ts";

const CHART_FILES = "deploy/helm/sallyport/files";

/** Rules, dashboards and the page about them. */
export async function monitoringFiles(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["docs/metrics.md", metricsPage(await metricCatalogue(), CLUSTER_RULES, PLATFORM_RULES)],
    [`${CHART_FILES}/alerts.yaml`, ruleFile(CLUSTER_RULES, "scripts/generate/monitoring/cluster-rules.ts")],
    [`${CHART_FILES}/dashboards/cluster.json`, dashboardFile(CLUSTER_DASHBOARD)],
    [`${CHART_FILES}/dashboards/fleet.json`, dashboardFile(FLEET_DASHBOARD)],
    ["deploy/monitoring/platform-dashboard.json", dashboardFile(PLATFORM_DASHBOARD)],
    [
      "deploy/monitoring/platform-alerts.yaml",
      ruleFile(PLATFORM_RULES, "scripts/generate/monitoring/platform-rules.ts"),
    ],
  ]);
}
