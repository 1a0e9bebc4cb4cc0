import { Counter, Gauge, type Registry } from "prom-client";

/** Each label with all the values it will ever have. */
type ClosedLabels<L extends string> = Readonly<Record<L, readonly string[]>>;

/** A counter whose series are all there from the start, at 0: `rate()` sees the first event. */
export function closedCounter<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labels: ClosedLabels<L>,
): Counter<L> {
  const counter = new Counter<L>({ name, help, labelNames: Object.keys(labels) as L[], registers: [registry] });
  for (const each of combinations(labels)) counter.inc(each, 0);
  return counter;
}

/** A gauge whose series are all there from the start, at 0: a dashboard can tell "none" from "not scraped". */
export function closedGauge<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labels: ClosedLabels<L>,
): Gauge<L> {
  const gauge = new Gauge<L>({ name, help, labelNames: Object.keys(labels) as L[], registers: [registry] });
  for (const each of combinations(labels)) gauge.set(each, 0);
  return gauge;
}

function combinations<L extends string>(labels: ClosedLabels<L>): readonly Record<L, string>[] {
  return Object.entries<readonly string[]>(labels).reduce<readonly Record<string, string>[]>(
    (found, [name, values]) => found.flatMap((each) => values.map((value) => ({ ...each, [name]: value }))),
    [{}],
  );
}
