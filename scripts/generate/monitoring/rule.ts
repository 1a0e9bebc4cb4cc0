import { stringify } from "yaml";

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
