import { type Dashboard, INSTALLATION, lines, RATE } from "./panel.ts";

const BY = "by (cluster, namespace)";
/** The platform's own processes, chosen by the variables job and pod. */
const PLATFORM = 'job=~"$job",pod=~"$pod"';
const WHERE = "{{cluster}} {{namespace}}";

/** What the vendor looks at: all installations whose metrics reach this Prometheus, and the platform itself. */
export const FLEET_DASHBOARD: Dashboard = {
  uid: "sallyport-fleet",
  title: "Sallyport / Fleet",
  about: "All installations and the platform: who is away, who is behind, and does the Management API answer?",
  seenBy: '{__name__=~"sallyport_(agent|platform)_build_info"}',
  rows: [
    {
      title: "Installations",
      panels: [
        {
          title: "Installations",
          about: "Agents that are scraped, replicas counted once.",
          kind: "stat",
          unit: "short",
          queries: [{ expr: `count(count ${BY} (sallyport_agent_build_info{${INSTALLATION}}))`, legend: "seen" }],
        },
        {
          title: "Connected",
          about: "Part of them that reaches the platform.",
          kind: "stat",
          unit: "percentunit",
          queries: [
            {
              expr: `avg(max ${BY} (sallyport_controlplane_connected{channel="sync",${INSTALLATION}}))`,
              legend: "connected",
            },
          ],
        },
        {
          title: "Requests that wait",
          about: "For a customer's decision, everywhere.",
          kind: "stat",
          unit: "short",
          queries: [{ expr: `sum(max ${BY} (sallyport_grants{state="Pending",${INSTALLATION}}))`, legend: "pending" }],
        },
        {
          title: "Open windows",
          about: "Grants under which commands may run now, everywhere.",
          kind: "stat",
          unit: "short",
          queries: [{ expr: `sum(max ${BY} (sallyport_grants{state="Approved",${INSTALLATION}}))`, legend: "open" }],
        },
        {
          title: "Oldest heartbeat",
          about: "The installation that has been silent for longest.",
          kind: "stat",
          unit: "s",
          queries: [{ expr: `max(cluster_namespace:sallyport_heartbeat_age:seconds{${INSTALLATION}})`, legend: "age" }],
          thresholds: [
            { value: 120, color: "orange" },
            { value: 180, color: "red" },
          ],
        },
        {
          title: "Largest clock skew",
          about: "Between an agent and the platform.",
          kind: "stat",
          unit: "s",
          queries: [{ expr: `max(abs(sallyport_controlplane_clock_skew_seconds{${INSTALLATION}}))`, legend: "skew" }],
          thresholds: [{ value: 30, color: "red" }],
        },
        {
          title: "Versions",
          about: "Which installation runs which build.",
          kind: "table",
          unit: "short",
          queries: [
            {
              expr: `count by (cluster, namespace, version, revision) (sallyport_agent_build_info{${INSTALLATION}})`,
              legend: "",
            },
          ],
        },
        {
          title: "Alerts",
          about: "What fires now, anywhere.",
          kind: "table",
          unit: "short",
          queries: [
            {
              expr: `count by (alertname, severity, cluster, namespace) (ALERTS{alertname=~"Sallyport.*",alertstate="firing",${INSTALLATION}})`,
              legend: "",
            },
          ],
        },
        {
          title: "Connected, one by one",
          about: "1 while the platform is reached.",
          kind: "timeseries",
          unit: "short",
          queries: [
            { expr: `max ${BY} (sallyport_controlplane_connected{channel="sync",${INSTALLATION}})`, legend: WHERE },
          ],
        },
        {
          title: "Age of the last heartbeat",
          about: "A ramp is an installation that is away.",
          kind: "timeseries",
          unit: "s",
          queries: [{ expr: `cluster_namespace:sallyport_heartbeat_age:seconds{${INSTALLATION}}`, legend: WHERE }],
          thresholds: [{ value: 180, color: "red" }],
        },
        {
          title: "Failed requests, seen from there",
          about: "Without an answer, or 5xx: what customers notice first.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [
            {
              expr: `cluster_namespace:sallyport_controlplane_request_errors:ratio_rate5m{${INSTALLATION}}`,
              legend: WHERE,
            },
          ],
          thresholds: [{ value: 0.144, color: "red" }],
        },
        lines(
          "Operations",
          "By installation and how they ended.",
          "short",
          `sum by (cluster, namespace, result) (increase(sallyport_operations_total{${INSTALLATION}}${RATE})) > 0`,
          `${WHERE} {{result}}`,
        ),
        lines(
          "Commands refused",
          "By installation and reason.",
          "short",
          `sum by (cluster, namespace, reason) (increase(sallyport_refused_total{${INSTALLATION}}${RATE})) > 0`,
          `${WHERE} {{reason}}`,
        ),
        {
          title: "Until runtime keys end",
          about: "Seconds left; keys without an end are not shown.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `min ${BY} (sallyport_runtime_key_expiry_timestamp_seconds{${INSTALLATION}} > 0) - time()`,
              legend: WHERE,
            },
          ],
        },
      ],
    },
    {
      title: "Management API",
      panels: [
        lines(
          "Requests",
          "The ten busiest routes.",
          "reqps",
          `topk(10, sum by (method, route) (rate(sallyport_http_requests_total{${PLATFORM}}${RATE})))`,
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
              expr: `sum by (code_class) (rate(sallyport_http_requests_total{${PLATFORM}}${RATE}))`,
              legend: "{{code_class}}",
            },
          ],
        },
        {
          title: "Errors of ours",
          about: "Part of the answers that are 5xx. The line is where the alert begins.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [{ expr: "cluster_namespace:sallyport_http_request_errors:ratio_rate5m", legend: WHERE }],
          thresholds: [{ value: 0.05, color: "red" }],
        },
        {
          title: "Duration",
          about: "Long-polls left out of the p99. The line is where the alert begins.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `histogram_quantile(0.5, sum by (le) (rate(sallyport_http_request_duration_seconds_bucket{${PLATFORM}}${RATE})))`,
              legend: "p50",
            },
            { expr: "max(cluster_namespace:sallyport_http_request_duration_seconds:p99_5m)", legend: "p99" },
          ],
          thresholds: [{ value: 1, color: "red" }],
        },
        lines(
          "Slowest routes, p99",
          "Long-polls are held up to 30 s on purpose.",
          "s",
          `topk(10, histogram_quantile(0.99, sum by (le, method, route) (rate(sallyport_http_request_duration_seconds_bucket{${PLATFORM}}${RATE}))))`,
          "{{method}} {{route}}",
        ),
        lines(
          "Errors by code",
          "The API's codes; what callers are told.",
          "short",
          `sum by (code) (increase(sallyport_http_errors_total{${PLATFORM}}${RATE})) > 0`,
          "{{code}}",
        ),
        {
          title: "Held",
          about: "Requests being answered, long-polls among them, and sockets of debug sessions.",
          kind: "timeseries",
          unit: "short",
          queries: [
            { expr: `sum(sallyport_http_requests_in_flight{${PLATFORM}})`, legend: "requests" },
            { expr: `sum(sallyport_long_polls{${PLATFORM}})`, legend: "long-polls" },
            { expr: `sum by (side) (sallyport_relay_sockets{${PLATFORM}})`, legend: "sockets {{side}}" },
          ],
        },
        {
          title: "Refused and repeated",
          about: "Callers that make too many requests; transactions that lost a race.",
          kind: "timeseries",
          unit: "short",
          queries: [
            { expr: `sum(increase(sallyport_rate_limited_total{${PLATFORM}}${RATE}))`, legend: "rate-limited" },
            {
              expr: `sum(increase(sallyport_transaction_retries_total{${PLATFORM}}${RATE}))`,
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
            { expr: `sum by (pod) (sallyport_database_connections_busy{${PLATFORM}})`, legend: "busy {{pod}}" },
            { expr: `sum by (pod) (sallyport_database_connections_waiting{${PLATFORM}})`, legend: "waiting {{pod}}" },
            { expr: `sum by (pod) (sallyport_database_connections_max{${PLATFORM}})`, legend: "most {{pod}}" },
          ],
        },
        {
          title: "Sweeps",
          about: "Time since each last succeeded; they run once a minute.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `time() - max by (sweep) (sallyport_sweep_last_success_timestamp_seconds{${PLATFORM}} > 0)`,
              legend: "{{sweep}}",
            },
          ],
          thresholds: [{ value: 900, color: "red" }],
        },
        lines(
          "Memory",
          "Resident.",
          "bytes",
          `process_resident_memory_bytes{${PLATFORM}} and on (job, pod, instance) sallyport_platform_build_info`,
          "{{pod}} {{instance}}",
        ),
        lines(
          "Event loop lag, p99",
          "How late the process comes to its work.",
          "s",
          `nodejs_eventloop_lag_p99_seconds{${PLATFORM}} and on (job, pod, instance) sallyport_platform_build_info`,
          "{{pod}} {{instance}}",
        ),
      ],
    },
  ],
};
