import { stringify } from "yaml";

/** A regular expression: the series that each process of an installation in a cluster has. */
export const PROCESS_INFO = "sallyport_(agent|operator|tunnel|join|machine_controller)_build_info";

export type Severity = "critical" | "warning" | "info";

/** `level:metric:operation`: the labels that stay, the metric, and how it is combined. */
export interface Recording {
  readonly record: string;
  readonly expr: string;
}

export interface Alert {
  /** Also the name of its page in docs/runbooks. */
  readonly name: string;
  readonly severity: Severity;
  readonly expr: string;
  /** How long it must hold: at least two scrapes wherever one odd scrape could fire it. */
  readonly for: string;
  /** One line: what is wrong. Prometheus's own template language. */
  readonly summary: string;
  /** What it means, with the figure. */
  readonly description: string;
}

export interface RuleGroup {
  readonly name: string;
  readonly recordings?: readonly Recording[];
  readonly alerts?: readonly Alert[];
}

/** Where runbooks are, until the value `metrics.rules.runbookBaseUrl` says otherwise; the page's name follows. */
const RUNBOOKS = "https://sallyport.dev/docs/runbooks";

export function runbookFile(alert: Pick<Alert, "name">): string {
  return `${alert.name}.md`;
}

/** Prometheus's rule file, and what the chart's PrometheusRule holds. */
export function ruleFile(groups: readonly RuleGroup[], from: string): string {
  const content = {
    groups: groups.map(({ name, recordings = [], alerts = [] }) => ({
      name,
      rules: [...recordings.map(({ record, expr }) => ({ record, expr: line(expr) })), ...alerts.map(alertRule)],
    })),
  };
  return `# Made by \`npm run generate\` from ${from}. Do not edit.\n${stringify(content, { lineWidth: 0 })}`;
}

function alertRule(alert: Alert) {
  const { name, severity, expr, for: wait, summary, description } = alert;
  return {
    alert: name,
    expr: line(expr),
    for: wait,
    labels: { severity },
    annotations: { summary, description, runbook_url: `${RUNBOOKS}/${runbookFile(alert)}` },
  };
}

/** Expressions are written over several lines in the code. */
export function line(expr: string): string {
  return expr.replace(/\s+/g, " ").trim();
}

/** For alerts on {@link gone}: where there was never a series, there is no namespace to name. */
export const WHERE_KNOWN = "{{ with $labels.namespace }} in {{ . }}{{ end }}";

/**
 * The metric existed within the last day and is gone now; or, where no other series exists, it was absent for a day.
 */
export function gone(metric: string): string {
  return line(`
    (count by (cluster, namespace) (count_over_time(${metric}[1d])) unless count by (cluster, namespace) (${metric}))
    or absent_over_time(${metric}[1d])`);
}
