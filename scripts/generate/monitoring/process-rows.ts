import { INSTALLATION, lines, PROCESS, RATE, type Row } from "./panel.ts";

/** Series of every controller and every process of the cluster side, under names that other controllers use too. */
export const PROCESS_ROWS: readonly Row[] = [
  {
    title: "Controllers",
    panels: [
      lines(
        "Reconciles",
        "By controller.",
        "ops",
        `sum by (controller) (rate(controller_runtime_reconcile_total{${PROCESS}}${RATE}))`,
        "{{controller}}",
      ),
      {
        title: "Failed reconciles",
        about: "The line is where the alert begins.",
        kind: "timeseries",
        unit: "percentunit",
        queries: [
          {
            expr: `cluster_namespace_pod_controller:controller_runtime_reconcile_errors:ratio_rate5m{${INSTALLATION}}`,
            legend: "{{controller}} {{pod}}",
          },
        ],
        thresholds: [{ value: 0.4, color: "red" }],
      },
      lines(
        "Duration of reconciles, p99",
        "By controller.",
        "s",
        `histogram_quantile(0.99, sum by (le, controller) (rate(controller_runtime_reconcile_time_seconds_bucket{${PROCESS}}${RATE})))`,
        "{{controller}}",
      ),
      lines("Queue depth", "Keys in line.", "short", `sum by (name) (workqueue_depth{${PROCESS}})`, "{{name}}"),
      {
        title: "Longest in work",
        about: "The line is where the alert begins.",
        kind: "timeseries",
        unit: "s",
        queries: [
          { expr: `max by (name) (workqueue_longest_running_processor_seconds{${PROCESS}})`, legend: "{{name}}" },
        ],
        thresholds: [{ value: 300, color: "red" }],
      },
      lines(
        "Leader",
        "One pod a lease.",
        "short",
        `max by (name, pod) (leader_election_master_status{${PROCESS}})`,
        "{{name}}: {{pod}}",
      ),
      lines(
        "Requests to the API server",
        "By status code.",
        "reqps",
        `sum by (code) (rate(rest_client_requests_total{${PROCESS}}${RATE}))`,
        "{{code}}",
      ),
      lines(
        "Duration at the API server, p99",
        "By verb.",
        "s",
        `histogram_quantile(0.99, sum by (le, verb) (rate(rest_client_request_duration_seconds_bucket{${PROCESS}}${RATE})))`,
        "{{verb}}",
      ),
      lines(
        "Watches begun again",
        "By reason.",
        "short",
        `sum by (reason) (increase(watch_restarts_total{${PROCESS}}${RATE}))`,
        "{{reason}}",
      ),
      lines("Objects in caches", "By kind.", "short", `max by (kind) (cache_objects{${PROCESS}})`, "{{kind}}"),
      lines(
        "Silence of watches",
        "A bookmark comes every minute.",
        "s",
        `time() - max by (kind, pod) (watch_last_event_timestamp_seconds{${PROCESS}} > 0)`,
        "{{kind}} {{pod}}",
      ),
      lines(
        "Kubernetes events",
        "Dropped and failed are missing in kubectl get events.",
        "short",
        `sum by (result) (increase(event_recorder_events_total{${PROCESS}}${RATE}))`,
        "{{result}}",
      ),
    ],
  },
  {
    title: "Processes",
    panels: [
      lines("CPU", "Cores.", "short", `rate(process_cpu_seconds_total{${PROCESS}}${RATE})`, "{{pod}}"),
      lines("Memory", "Resident.", "bytes", `process_resident_memory_bytes{${PROCESS}}`, "{{pod}}"),
      lines("Heap", "Used.", "bytes", `nodejs_heap_size_used_bytes{${PROCESS}}`, "{{pod}}"),
      {
        title: "Event loop lag, p99",
        about: "The line is where the alert begins.",
        kind: "timeseries",
        unit: "s",
        queries: [{ expr: `nodejs_eventloop_lag_p99_seconds{${PROCESS}}`, legend: "{{pod}}" }],
        thresholds: [{ value: 0.5, color: "red" }],
      },
      lines(
        "Garbage collection",
        "Seconds a second.",
        "percentunit",
        `sum by (pod) (rate(nodejs_gc_duration_seconds_sum{${PROCESS}}${RATE}))`,
        "{{pod}}",
      ),
      lines("Open files", "Sockets among them.", "short", `process_open_fds{${PROCESS}}`, "{{pod}}"),
    ],
  },
];
