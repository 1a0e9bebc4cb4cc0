import { type Dashboard, INSTALLATION, lines, PROCESS, PROCESS_LABELS, RATE } from "./panel.ts";

/** What the vendor looks at: the platform's own processes. It is no part of the chart, which customers install. */
export const PLATFORM_DASHBOARD: Dashboard = {
  uid: "sallyport-platform",
  title: "Sallyport / Platform",
  about: "The vendor's platform: does the Management API answer, and are its processes and its database well?",
  variables: PROCESS_LABELS,
  seenBy: "sallyport_platform_build_info",
  rows: [
    {
      title: "Management API",
      panels: [
        lines(
          "Requests",
          "The ten busiest routes.",
          "reqps",
          `topk(10, sum by (method, route) (rate(sallyport_http_requests_total{${PROCESS}}${RATE})))`,
          "{{method}} {{route}}",
        ),
        {
          title: "Answers by class",
          about: "5xx are faults of ours.",
          kind: "timeseries",
          unit: "reqps",
          stacked: true,
          queries: [
            {
              expr: `sum by (code_class) (rate(sallyport_http_requests_total{${PROCESS}}${RATE}))`,
              legend: "{{code_class}}",
            },
          ],
        },
        {
          title: "Errors of ours",
          about: "Part of the answers that are 5xx. The line is where the alert begins.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [
            {
              expr: `cluster_namespace:sallyport_http_request_errors:ratio_rate5m{${INSTALLATION}}`,
              legend: "{{cluster}} {{namespace}}",
            },
          ],
          thresholds: [{ value: 0.05, color: "red" }],
        },
        {
          title: "Duration",
          about: "Long-polls left out of the p99. The line is where the alert begins.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `histogram_quantile(0.5, sum by (le) (rate(sallyport_http_request_duration_seconds_bucket{${PROCESS}}${RATE})))`,
              legend: "p50",
            },
            {
              expr: `max(cluster_namespace:sallyport_http_request_duration_seconds:p99_5m{${INSTALLATION}})`,
              legend: "p99",
            },
          ],
          thresholds: [{ value: 1, color: "red" }],
        },
        lines(
          "Slowest routes, p99",
          "Long-polls are held up to 30 s on purpose.",
          "s",
          `topk(10, histogram_quantile(0.99, sum by (le, method, route) (rate(sallyport_http_request_duration_seconds_bucket{${PROCESS}}${RATE}))))`,
          "{{method}} {{route}}",
        ),
        lines(
          "Errors by code",
          "The API's codes; what callers are told.",
          "short",
          `sum by (code) (increase(sallyport_http_errors_total{${PROCESS}}${RATE})) > 0`,
          "{{code}}",
        ),
        {
          title: "Held",
          about: "Requests being answered, long-polls among them, and sockets of debug sessions.",
          kind: "timeseries",
          unit: "short",
          queries: [
            { expr: `sum(sallyport_http_requests_in_flight{${PROCESS}})`, legend: "requests" },
            { expr: `sum(sallyport_long_polls{${PROCESS}})`, legend: "long-polls" },
            { expr: `sum by (side) (sallyport_relay_sockets{${PROCESS}})`, legend: "sockets {{side}}" },
          ],
        },
        {
          title: "Refused and repeated",
          about: "Callers that make too many requests; transactions that lost a race.",
          kind: "timeseries",
          unit: "short",
          queries: [
            { expr: `sum(increase(sallyport_rate_limited_total{${PROCESS}}${RATE}))`, legend: "rate-limited" },
            {
              expr: `sum(increase(sallyport_transaction_retries_total{${PROCESS}}${RATE}))`,
              legend: "transactions run again",
            },
          ],
        },
        {
          title: "Connections to the database",
          about: "Busy at the most, and requests in line: too few, or something blocks.",
          kind: "timeseries",
          unit: "short",
          queries: [
            { expr: `sum by (pod) (sallyport_database_connections_busy{${PROCESS}})`, legend: "busy {{pod}}" },
            { expr: `sum by (pod) (sallyport_database_connections_waiting{${PROCESS}})`, legend: "waiting {{pod}}" },
            { expr: `sum by (pod) (sallyport_database_connections_max{${PROCESS}})`, legend: "most {{pod}}" },
          ],
        },
        {
          title: "Sweeps",
          about: "Time since each last succeeded; they run once a minute.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `time() - max by (sweep) (sallyport_sweep_last_success_timestamp_seconds{${PROCESS}} > 0)`,
              legend: "{{sweep}}",
            },
          ],
          thresholds: [{ value: 900, color: "red" }],
        },
        lines(
          "Memory",
          "Resident.",
          "bytes",
          `process_resident_memory_bytes{${PROCESS}} and on (job, pod, instance) sallyport_platform_build_info`,
          "{{pod}} {{instance}}",
        ),
        lines(
          "Event loop lag, p99",
          "How late the process comes to its work.",
          "s",
          `nodejs_eventloop_lag_p99_seconds{${PROCESS}} and on (job, pod, instance) sallyport_platform_build_info`,
          "{{pod}} {{instance}}",
        ),
      ],
    },
  ],
};
