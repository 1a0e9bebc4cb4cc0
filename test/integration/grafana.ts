import { line } from "../../scripts/generate/monitoring/rule.ts";
import type { DashboardFile, DashboardPanel } from "../chart/dashboard-files.ts";
import type { PrometheusServer } from "./prometheus-server.ts";

/** What a reader picked in the drop-downs; a variable that is not here is at All. */
export type Choice = Readonly<Record<string, readonly string[]>>;

/** Long enough for all of a test's story: the panels of events show those of its beginning too. */
const RATE_WINDOW = "5m";
const SHOWN_SECONDS = 60;
/** Grafana's own pattern: everything before the last comma is the selector. */
const LABEL_VALUES = /^label_values\((?:(.+),\s*)?([a-zA-Z_$][a-zA-Z0-9_]*)\)\s*$/;

/** A dashboard as Grafana shows it: the same texts in place of variables, the same requests to Prometheus. */
export class ShownDashboard {
  readonly #dashboard: DashboardFile["dashboard"];
  readonly #prometheus: Pick<PrometheusServer, "labelValues" | "series" | "query" | "range">;

  constructor(
    { dashboard }: Pick<DashboardFile, "dashboard">,
    prometheus: Pick<PrometheusServer, "labelValues" | "series" | "query" | "range">,
  ) {
    this.#dashboard = dashboard;
    this.#prometheus = prometheus;
  }

  /** Names of the drop-downs that Prometheus fills. */
  get variables(): readonly string[] {
    return this.#dashboard.templating.list.filter(({ type }) => type === "query").map(({ name }) => name);
  }

  /** @returns what the drop-down offers beside All. @throws Error when Prometheus refuses the question */
  async offered(name: string, choice: Choice = {}): Promise<readonly string[]> {
    const variable = this.#dashboard.templating.list.find((each) => each.name === name);
    const [, selector = "", label = ""] = LABEL_VALUES.exec(variable?.definition ?? "") ?? [];
    if (label === "") throw new Error(`${name} is no label_values(…): ${variable?.definition}`);
    const match = this.#filled(selector, choice);
    const values = await this.#prometheus.labelValues(label, match);
    // What Grafana asks of a Prometheus older than 2.24, and of some that only speak its language.
    const series = await this.#prometheus.series(match);
    const found = series.flatMap((labels) => labels[label] ?? []);
    if (values.toSorted().join() !== [...new Set(found)].toSorted().join()) {
      throw new Error(`${match}: ${values} by label values, ${found} by series`);
    }
    return values;
  }

  /** How many series Prometheus has for each query of a panel. @throws Error when it refuses one */
  async answers({ targets = [] }: DashboardPanel, choice: Choice = {}): Promise<readonly number[]> {
    return Promise.all(
      targets.map(async ({ expr, instant }) => {
        const query = this.#filled(expr, choice);
        const { length } = instant
          ? await this.#prometheus.query(query)
          : await this.#prometheus.range(query, SHOWN_SECONDS);
        return length;
      }),
    );
  }

  #filled(text: string, choice: Choice): string {
    let filled = text.replaceAll("$__rate_interval", RATE_WINDOW);
    for (const { name, allValue } of this.#dashboard.templating.list) {
      const value = choice[name] === undefined ? allValue : alternatives(choice[name]);
      filled = filled.replaceAll(new RegExp(`\\$${name}\\b`, "g"), () => value ?? "");
    }
    if (filled.includes("$")) throw new Error(`a variable stays: ${filled}`);
    return line(filled);
  }
}

/** Grafana's text for the values of a variable with `multi`, which stands in a regular expression inside a string. */
function alternatives(values: readonly string[]): string {
  const escaped = values.map((value) =>
    value.replaceAll("\\", "\\\\\\\\").replaceAll(/[$^*{}[\]'+?.()|]/g, String.raw`\\$&`),
  );
  return escaped.length === 1 ? `${escaped[0]}` : `(${escaped.join("|")})`;
}
