import type { ProgramResult } from "../chart/prometheus.ts";
import type { Promtool } from "../chart/use-promtool.ts";
import { RULE_FILES } from "./metrics-world.ts";
import type { PrometheusServer, Sample } from "./prometheus-server.ts";

/** What Prometheus had of all processes at one moment. */
export type Scrape = readonly Sample[];

export function scrapeOf(prometheus: PrometheusServer): Promise<Scrape> {
  // A recorded series has no job.
  return prometheus.query('{job!=""}');
}

/** Before the series begin, for promtool's clock starts at 0: so that a time which lies back in them is not before it. */
const EMPTY_MINUTES = 60;
/** Longer than any alert's `for`. */
const MINUTES = 90;
/** In which a counter grows from one scrape's value to the other's. */
const GROWTH_MINUTES = 5;

/**
 * Has promtool judge which alerts begin in an hour and a half in which everything stays as the later scrape shows it: a point
 * in time is as long ago as it was, a gauge has its value, and a counter has grown since the earlier scrape. So the alerts' own
 * windows pass in promtool's time, and a slow machine has no part in them.
 *
 * @param expected names of the alerts that begin @param ignored names of those that may begin or not
 */
export function judgeAlerts(
  promtool: Promtool,
  [earlier, later]: readonly [earlier: Scrape, later: Scrape],
  expected: readonly string[],
  ignored: readonly string[],
): Promise<ProgramResult> {
  return promtool.testRules({
    rule_files: RULE_FILES,
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: seriesOf(earlier, later),
        promql_expr_test: [
          {
            expr: `group by (alertname) (count_over_time(ALERTS{alertname!~"${ignored.join("|")}"}[${MINUTES}m]))`,
            eval_time: `${EMPTY_MINUTES + MINUTES}m`,
            exp_samples: expected.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
          },
        ],
      },
    ],
  });
}

interface Series {
  readonly series: string;
  readonly values: string;
}

function seriesOf(earlier: Scrape, later: Scrape): readonly Series[] {
  const before = new Map(earlier.map((sample) => [nameOf(sample), Number(sample.value[1])]));
  const now = new Set(later.map(nameOf));
  const gone = [...before].filter(([series]) => !now.has(series));
  return [
    ...gone.map(([series, value]) => ({ series, values: `${value}x${GROWTH_MINUTES} stale` })),
    ...later.map((sample) => ({ series: nameOf(sample), values: valuesOf(sample, before.get(nameOf(sample))) })),
  ].flatMap(({ series, values }) =>
    /NaN|Infinity/.test(values) ? [] : [{ series, values: `_x${EMPTY_MINUTES} ${values}` }],
  );
}

function valuesOf({ metric: { __name__: name = "" }, value: [at, text] }: Sample, before?: number): string {
  const value = Number(text);
  // 0 is for what has not been.
  if (/_timestamp_seconds$|^process_start_time_seconds$/.test(name) && value > 0) {
    return `${EMPTY_MINUTES * 60 + value - at}+60x${MINUTES}`;
  }
  if (!/_(total|count|sum|bucket)$/.test(name)) return `${value}x${MINUTES}`;
  const from = before ?? value;
  const grown = Array.from(
    { length: GROWTH_MINUTES },
    (_, minute) => from + ((value - from) * minute) / GROWTH_MINUTES,
  );
  return `${grown.join(" ")} ${value}x${MINUTES}`;
}

/** As a selector that promtool reads. */
function nameOf({ metric: { __name__: name = "", ...labels } }: Sample): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.join(",")}}`;
}
