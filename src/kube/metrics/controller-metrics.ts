import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type ControllerMetrics, type KubeMetrics, type QueueState, RECONCILE_RESULTS } from "./metrics.ts";

/** client-go's `ExponentialBuckets(10e-9, 10, 12)`, written out: multiplying gives 9.999999999999999e-8. */
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000];
/** controller-runtime's `ReconcileTime`. */
const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const NOTHING: QueueState = { depth: 0, unfinishedSeconds: 0, longestRunningSeconds: 0 };

/** client-go's work queue metrics as controller-runtime registers them: the queue bears its controller's name. */
export function queueMetrics(registry: Registry): KubeMetrics["queue"] {
  const registers = [registry];
  const labelNames = ["name", "controller"] as const;
  const states = new Map<string, () => QueueState>();
  const gauge = (name: string, help: string, read: (state: QueueState) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [queue, state] of states) this.set({ name: queue, controller: queue }, read(state()));
      },
    });
  };
  new Gauge({
    name: "workqueue_depth",
    help: "Keys in line: are the workers keeping up?",
    labelNames: ["name", "controller", "priority"],
    registers,
    collect() {
      // "" is controller-runtime's value for a queue without priorities.
      for (const [name, state] of states) this.set({ name, controller: name, priority: "" }, state().depth);
    },
  });
  gauge("workqueue_unfinished_work_seconds", "Sum of the running reconciles' ages.", (s) => s.unfinishedSeconds);
  gauge(
    "workqueue_longest_running_processor_seconds",
    "Age of the longest running reconcile: is a worker stuck?",
    (s) => s.longestRunningSeconds,
  );
  const adds = new Counter({ name: "workqueue_adds_total", help: "Keys put in line.", labelNames, registers });
  const retries = new Counter({
    name: "workqueue_retries_total",
    help: "Keys added with a delay.",
    labelNames,
    registers,
  });
  const histogram = (name: string, help: string): Histogram<"name" | "controller"> =>
    new Histogram({ name, help, labelNames, buckets: QUEUE_BUCKETS, registers });
  const waited = histogram("workqueue_queue_duration_seconds", "Time a key waits in line.");
  const worked = histogram("workqueue_work_duration_seconds", "Time a key is with a worker.");

  return (name) => {
    const labels = { name, controller: name };
    states.set(name, () => NOTHING);
    adds.inc(labels, 0);
    retries.inc(labels, 0);
    waited.zero(labels);
    worked.zero(labels);
    return {
      added: () => adds.inc(labels),
      retried: () => retries.inc(labels),
      waited: (seconds) => waited.observe(labels, seconds),
      worked: (seconds) => worked.observe(labels, seconds),
      observe(read) {
        states.set(name, read);
        // Back to zero, not gone: a series that disappears looks like a failed scrape.
        return () => void states.set(name, () => NOTHING);
      },
    };
  };
}

/** controller-runtime's `pkg/internal/controller/metrics`. */
export function controllerMetrics(registry: Registry): KubeMetrics["controller"] {
  const registers = [registry];
  const labelNames = ["controller"] as const;
  const counter = (name: string, help: string): Counter<"controller"> =>
    new Counter({ name: `controller_runtime_${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string): Gauge<"controller"> =>
    new Gauge({ name: `controller_runtime_${name}`, help, labelNames, registers });
  const total = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by result.",
    labelNames: ["controller", "result"],
    registers,
  });
  const errors = counter("reconcile_errors_total", "Reconciles that failed, terminal errors included.");
  const terminal = counter("terminal_reconcile_errors_total", "Reconciles that failed and are not retried.");
  const panics = counter("reconcile_panics_total", "Reconciles that ended in a bug, not in an error.");
  const timeouts = counter("reconcile_timeouts_total", "Reconciles that ran into their time limit.");
  const seconds = new Histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Duration of a reconcile.",
    labelNames,
    buckets: RECONCILE_BUCKETS,
    registers,
  });
  const maxWorkers = gauge("max_concurrent_reconciles", "Workers of this controller.");
  const activeWorkers = gauge("active_workers", "Workers busy now.");

  return (controller, concurrency): ControllerMetrics => {
    const labels = { controller };
    for (const result of RECONCILE_RESULTS) total.inc({ controller, result }, 0);
    for (const each of [errors, terminal, panics, timeouts]) each.inc(labels, 0);
    seconds.zero(labels);
    activeWorkers.set(labels, 0);
    maxWorkers.set(labels, concurrency);
    return {
      reconciled(result, durationSeconds) {
        total.inc({ controller, result });
        if (result === "error") errors.inc(labels);
        seconds.observe(labels, durationSeconds);
      },
      terminalError: () => terminal.inc(labels),
      panicked: () => panics.inc(labels),
      timedOut: () => timeouts.inc(labels),
      active: (workers) => activeWorkers.set(labels, workers),
    };
  };
}
