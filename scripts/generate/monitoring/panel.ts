import { line } from "./rule.ts";

/** Grafana's own names. */
export type Unit =
  | "short"
  | "s"
  | "bytes"
  | "Bps"
  | "reqps"
  | "ops"
  | "percentunit"
  | "bool_yes_no"
  | "dateTimeFromNow";

/** From `value` on the panel has this colour; below the first threshold it is green. */
export interface Threshold {
  readonly value: number;
  readonly color: "green" | "orange" | "red";
}

export interface Query {
  readonly expr: string;
  /** Grafana's template: `{{pod}}`. Empty for tables. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** What a reader sees here when something is wrong. */
  readonly about: string;
  readonly kind: "timeseries" | "stat" | "table" | "heatmap";
  readonly unit: Unit;
  readonly queries: readonly Query[];
  readonly thresholds?: readonly Threshold[];
  /** Of 24 columns. */
  readonly width?: number;
  readonly stacked?: true;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly about: string;
  /** Each narrows the next one. */
  readonly variables: readonly Variable[];
  /** Regular expression of a metric's name that every shown process has: the variables list the values of its labels. */
  readonly seenBy: string;
  readonly rows: readonly Row[];
}

const COLUMNS = 24;
const HEIGHTS: Readonly<Record<Panel["kind"], number>> = { stat: 4, timeseries: 8, table: 8, heatmap: 8 };
const WIDTHS: Readonly<Record<Panel["kind"], number>> = { stat: 4, timeseries: 8, table: 12, heatmap: 12 };
const DATASOURCE = { type: "prometheus", uid: "$datasource" };

/** Labels by which a reader chooses; those of one installation, and those of one process. */
export const INSTALLATION_LABELS = ["cluster", "namespace"] as const;
export const PROCESS_LABELS = [...INSTALLATION_LABELS, "job", "pod"] as const;
type Variable = (typeof PROCESS_LABELS)[number];

/** Selects the series of one process. */
export const PROCESS = PROCESS_LABELS.map((name) => `${name}=~"$${name}"`).join(",");
/** Selects recordings, which cover all replicas. */
export const INSTALLATION = 'cluster=~"$cluster",namespace=~"$namespace"';

/** The window that Grafana needs for a rate at the shown resolution. */
export const RATE = "[$__rate_interval]";

/** A plain panel of lines. */
export function lines(title: string, about: string, unit: Unit, expr: string, legend: string): Panel {
  return { title, about, kind: "timeseries", unit, queries: [{ expr, legend }] };
}

/** Grafana's JSON. Ids and places follow from the order, so that a review shows only the row that changed. */
export function dashboardFile(dashboard: Dashboard): string {
  const { uid, title, about, rows } = dashboard;
  const content = {
    uid,
    title,
    description: about,
    tags: ["sallyport"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "1m",
    time: { from: "now-6h", to: "now" },
    timezone: "",
    annotations: { list: [] },
    links: [],
    templating: { list: variables(dashboard) },
    panels: laidOut(rows),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function variables({ seenBy, variables: chosen }: Dashboard): readonly object[] {
  const datasource = { name: "datasource", label: "Data source", type: "datasource", query: "prometheus", hide: 0 };
  const queries = chosen.map((name, at) => {
    const narrowed = chosen.slice(0, at).map((each) => `${each}=~"$${each}"`);
    const query = `label_values({${[`__name__=~"${seenBy}"`, ...narrowed].join(",")}}, ${name})`;
    return {
      name,
      label: `${name[0]?.toUpperCase()}${name.slice(1)}`,
      type: "query",
      datasource: DATASOURCE,
      query: { query, refId: name },
      definition: query,
      refresh: 2,
      sort: 1,
      multi: true,
      includeAll: true,
      // Also matches series without the label: with one Prometheus for each cluster they have none.
      allValue: ".*",
      current: { selected: true, text: ["All"], value: ["$__all"] },
      hide: 0,
    };
  });
  return [datasource, ...queries];
}

function laidOut(rows: readonly Row[]): readonly object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of row.panels) {
      const [w, h] = [panel.width ?? WIDTHS[panel.kind], HEIGHTS[panel.kind]];
      if (x + w > COLUMNS) {
        y += lineHeight;
        x = 0;
        lineHeight = 0;
      }
      panels.push({ id: panels.length + 1, ...panelJson(panel), gridPos: { x, y, w, h } });
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return panels;
}

function panelJson(panel: Panel): object {
  const { title, about, kind, unit, queries, thresholds = [] } = panel;
  const steps = [{ color: "green", value: null }, ...thresholds];
  return {
    type: kind,
    title,
    description: about,
    datasource: DATASOURCE,
    fieldConfig: {
      defaults: { unit, min: 0, thresholds: { mode: "absolute", steps }, custom: custom(panel) },
      overrides: [],
    },
    options: OPTIONS[kind],
    transformations:
      kind === "table"
        ? [
            { id: "labelsToFields", options: {} },
            { id: "merge", options: {} },
          ]
        : [],
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr: line(expr),
      legendFormat: legend === "" ? "__auto" : legend,
      instant: kind === "table" || kind === "stat",
      range: kind !== "table" && kind !== "stat",
      format: kind === "table" ? "table" : kind === "heatmap" ? "heatmap" : "time_series",
    })),
  };
}

function custom({ kind, stacked, thresholds = [] }: Panel): object {
  if (kind !== "timeseries") return {};
  const stacking = { mode: stacked === true ? "normal" : "none", group: "A" };
  const thresholdsStyle = { mode: thresholds.length > 0 ? "dashed" : "off" };
  return {
    drawStyle: "line",
    lineWidth: 1,
    fillOpacity: stacked === true ? 40 : 5,
    showPoints: "never",
    stacking,
    thresholdsStyle,
  };
}

const LAST = { calcs: ["lastNotNull"], fields: "", values: false };
const OPTIONS: Readonly<Record<Panel["kind"], object>> = {
  timeseries: {
    legend: { displayMode: "list", placement: "bottom", showLegend: true },
    tooltip: { mode: "multi", sort: "desc" },
  },
  stat: { reduceOptions: LAST, colorMode: "value", graphMode: "none", textMode: "auto", justifyMode: "auto" },
  table: { showHeader: true, cellHeight: "sm", footer: { show: false, reducer: ["sum"], fields: "" } },
  heatmap: { calculate: false, yAxis: { unit: "s" }, color: { mode: "scheme", scheme: "Oranges", steps: 64 } },
};
