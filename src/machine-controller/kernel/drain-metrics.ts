import { Gauge, Histogram, type Registry } from "prom-client";
import { closedCounter } from "../../base/closed-series.ts";
import {
  DRAIN_BLOCKERS,
  type DrainBlocker,
  MACHINE_DRAIN_STATES,
  type MachineDrain,
  type MachineDrainState,
} from "../../crds/kinds/machine-drain.ts";
import type { Condition } from "../../kube/objects/conditions.ts";

/** How a drain ended. `deadline`: empty, but after its deadline; `forced`: what was left then was deleted. */
const DRAIN_RESULTS = ["drained", "deadline", "forced", "failed", "cancelled"] as const;
export type DrainResult = (typeof DRAIN_RESULTS)[number];

/** What the API server said to an eviction, or to a forced deletion. */
const EVICTION_ANSWERS = [
  "accepted",
  "gone",
  "replaced",
  "budget",
  "misconfigured",
  "busy",
  "ending",
  "error",
] as const;
export type EvictionAnswer = (typeof EVICTION_ANSWERS)[number];

/** What the rest of the process may do to the metrics of drains. */
export interface DrainMetrics {
  asked(answer: EvictionAnswer): void;
  /** @param seconds from its claim; undefined when it was never begun. */
  ended(result: DrainResult, seconds?: number): void;
}

/** @param drains asked at each scrape */
export function drainMetrics(registry: Registry, drains: () => Iterable<MachineDrain>): DrainMetrics {
  drainGauges(registry, drains);
  const evictions = closedCounter(
    registry,
    "sallyport_evictions_total",
    "Evictions and forced deletions that drains asked for, by what the API server answered.",
    { answer: EVICTION_ANSWERS },
  );
  const total = closedCounter(registry, "sallyport_machine_drains_total", "Drains that ended, by how.", {
    result: DRAIN_RESULTS,
  });
  const duration = new Histogram({
    name: "sallyport_machine_drain_duration_seconds",
    help: "From a drain's claim to its end.",
    buckets: [5, 15, 60, 300, 900, 3_600, 14_400, 86_400],
    registers: [registry],
  });
  duration.zero({});
  return {
    asked: (answer) => evictions.inc({ answer }),
    ended(result, seconds) {
      total.inc({ result });
      if (seconds !== undefined) duration.observe(seconds);
    },
  };
}

function drainGauges(registry: Registry, drains: () => Iterable<MachineDrain>): void {
  /** Conditions of those that have not ended. */
  const going = (): readonly (readonly Condition[])[] =>
    [...drains()].flatMap(({ status }) =>
      status?.state === "Drained" || status?.state === "Failed" ? [] : [(status?.conditions ?? []) as Condition[]],
    );
  new Gauge({
    name: "sallyport_machine_drains",
    help: "Drains by state.",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const counts = new Map<MachineDrainState, number>(MACHINE_DRAIN_STATES.map((state) => [state, 0]));
      for (const { status } of drains()) {
        const state = status?.state ?? "Waiting";
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
      for (const [state, count] of counts) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "sallyport_machine_drain_blockers",
    help: "Pods that hold drains up, by why. Those that stay with their node, daemon, hold up none.",
    labelNames: ["reason"],
    registers: [registry],
    collect() {
      const counts = new Map<DrainBlocker, number>(DRAIN_BLOCKERS.map((reason) => [reason, 0]));
      for (const { status } of drains())
        for (const { reason, count } of status?.blockers ?? []) counts.set(reason, (counts.get(reason) ?? 0) + count);
      for (const [reason, count] of counts) this.set({ reason }, count);
    },
  });
  new Gauge({
    name: "sallyport_machine_drains_stalled",
    help: "Drains whose node no pod has left for ten minutes.",
    registers: [registry],
    collect() {
      this.set(going().filter((each) => each.some(({ reason }) => reason === "Stalled")).length);
    },
  });
  new Gauge({
    name: "sallyport_machine_drains_overdue",
    help: "Drains that go on after their deadline.",
    registers: [registry],
    collect() {
      const isOverdue = ({ type, status }: Condition): boolean => type === "DeadlineExceeded" && status === "True";
      this.set(going().filter((each) => each.some(isOverdue)).length);
    },
  });
}
