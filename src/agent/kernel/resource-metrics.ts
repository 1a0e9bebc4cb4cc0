import { Histogram, type Registry } from "prom-client";
import { closedCounter, closedGauge } from "../../base/closed-series.ts";
import { HEALTHS } from "../../contract/resources/resource-heartbeat.ts";
import { OBSERVED_KINDS, type ObservedKind } from "./observed-kinds.ts";

const RESULTS = ["ok", "failed"] as const;
/** Everything, what changed, that nothing did; or nothing yet, because lists are still being read. */
const REPORT_MODES = ["full", "delta", "confirm", "starting"] as const;
/** What the agent can see of a list: nothing yet, all of it, only what it was, that it may not, or that it is too much. */
const LIST_STATES = ["starting", "read", "stale", "unreadable", "too-large"] as const;
export type ListState = (typeof LIST_STATES)[number];
type Health = (typeof HEALTHS)[number];

/** What is known of workloads, and what the platform was told of it. */
export interface ResourceMetrics {
  resources(kind: ObservedKind, countByHealth: Readonly<Partial<Record<Health, number>>>): void;
  /** How many lists of a kind, one a namespace, are in each state. */
  collection(kind: ObservedKind, countByState: Readonly<Partial<Record<ListState, number>>>): void;
  resourceReport(result: (typeof RESULTS)[number], mode: (typeof REPORT_MODES)[number], at: Date): void;
  /** From the first change that was not told yet until the platform has stored it. */
  changeReported(seconds: number): void;
  /** The platform asked for everything again. */
  resourceResent(): void;
}

export function resourceMetrics(registry: Registry): ResourceMetrics {
  const resources = closedGauge(
    registry,
    "sallyport_resources",
    "Workloads, claims and disruption budgets in the opened namespaces by health.",
    {
      kind: OBSERVED_KINDS,
      health: HEALTHS,
    },
  );
  const resourceReports = closedCounter(
    registry,
    "sallyport_resource_reports_total",
    "Health and inventory reports by result: everything, what changed, or that nothing did.",
    { result: RESULTS, mode: REPORT_MODES },
  );
  const resends = closedCounter(
    registry,
    "sallyport_resource_resends_total",
    "Times that the platform asked for all resources again, because it held others than this agent had told.",
    {},
  );
  const lists = closedGauge(
    registry,
    "sallyport_collection_lists",
    "Lists of a kind in accepted namespaces, one each, by what the agent can see of them.",
    { kind: OBSERVED_KINDS, state: LIST_STATES },
  );
  const lastReport = closedGauge(
    registry,
    "sallyport_resource_report_last_success_timestamp_seconds",
    "When a report of resources last succeeded; 0 before the first.",
    {},
  );
  const changeSeconds = new Histogram({
    name: "sallyport_resource_change_to_report_seconds",
    help: "From a change of a workload until the platform has stored it.",
    buckets: [0.25, 0.5, 1, 1.5, 2.5, 5, 10, 30, 60],
    registers: [registry],
  });
  return {
    resources(kind, countByHealth) {
      for (const health of HEALTHS) resources.set({ kind, health }, countByHealth[health] ?? 0);
    },
    collection(kind, countByState) {
      for (const state of LIST_STATES) lists.set({ kind, state }, countByState[state] ?? 0);
    },
    resourceReport(result, mode, at) {
      resourceReports.inc({ result, mode });
      if (result === "ok") lastReport.set(at.getTime() / 1_000);
    },
    changeReported: (seconds) => changeSeconds.observe(seconds),
    resourceResent: () => resends.inc({}),
  };
}
