import { NOW_ROW } from "./cluster-now-row.ts";
import { DEBUG_ROW } from "./debug-row.ts";
import { MACHINE_ROW } from "./machine-row.ts";
import { type Dashboard, INSTALLATION, lines, PROCESS, PROCESS_LABELS, RATE } from "./panel.ts";
import { PROCESS_ROWS } from "./process-rows.ts";
import { RELEASE_ROW } from "./release-row.ts";
import { PROCESS_INFO } from "./rule.ts";

/** What the customer's platform team looks at: one installation. */
export const CLUSTER_DASHBOARD: Dashboard = {
  uid: "sallyport-cluster",
  title: "Sallyport / Cluster",
  about:
    "One installation: is the vendor reached, who waits for a decision, what ran, and are agent and operator well?",
  variables: PROCESS_LABELS,
  seenBy: PROCESS_INFO,
  rows: [
    NOW_ROW,
    {
      title: "Way to the platform",
      panels: [
        lines(
          "Requests",
          "By route: which talk stopped?",
          "reqps",
          `sum by (route) (rate(sallyport_controlplane_requests_total{${PROCESS}}${RATE}))`,
          "{{route}}",
        ),
        {
          title: "Failed requests",
          about: "Without an answer, or 5xx. The line is where the alert begins.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [
            {
              expr: `cluster_namespace:sallyport_controlplane_request_errors:ratio_rate5m{${INSTALLATION}}`,
              legend: "{{namespace}} {{cluster}}",
            },
          ],
          thresholds: [{ value: 0.144, color: "red" }],
        },
        {
          title: "Duration",
          about: "Of requests other than the long-poll.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `histogram_quantile(0.5, sum by (le) (rate(sallyport_controlplane_request_duration_seconds_bucket{route!="managerRuntime.work",${PROCESS}}${RATE})))`,
              legend: "p50",
            },
            {
              expr: `max(cluster_namespace:sallyport_controlplane_request_duration_seconds:p99_5m{${INSTALLATION}})`,
              legend: "p99",
            },
          ],
        },
        lines(
          "Keys refused",
          "Refusals of the runtime key, by reason.",
          "short",
          `sum by (reason) (increase(sallyport_controlplane_auth_failures_total{${PROCESS}}${RATE}))`,
          "{{reason}}",
        ),
        lines(
          "Connections found and lost",
          "A saw tooth is something between that cuts.",
          "short",
          `sum by (channel, result) (increase(sallyport_controlplane_connections_total{${PROCESS}}${RATE}))`,
          "{{channel}} {{result}}",
        ),
        {
          title: "Clock skew and back-off",
          about: "The platform's clock minus ours; how long the agent waits before it tries again.",
          kind: "timeseries",
          unit: "s",
          queries: [
            {
              expr: `max by (pod) (abs(sallyport_controlplane_clock_skew_seconds{${PROCESS}}))`,
              legend: "skew {{pod}}",
            },
            {
              expr: `max by (channel) (sallyport_controlplane_backoff_seconds{${PROCESS}})`,
              legend: "back-off {{channel}}",
            },
          ],
          thresholds: [{ value: 30, color: "red" }],
        },
        lines(
          "Bytes",
          "Bodies of requests and answers: what the egress costs.",
          "Bps",
          `sum by (direction) (rate(sallyport_controlplane_request_bytes_total{${PROCESS}}${RATE}))`,
          "{{direction}}",
        ),
        {
          title: "Buffers",
          about: "How full each bounded memory is.",
          kind: "timeseries",
          unit: "percentunit",
          queries: [
            {
              expr: `max by (queue) (cluster_namespace_queue:sallyport_buffer_used:ratio{${INSTALLATION}})`,
              legend: "{{queue}}",
            },
          ],
          thresholds: [{ value: 0.8, color: "red" }],
        },
        lines(
          "Left out",
          "Items that found no room.",
          "short",
          `sum by (queue) (increase(sallyport_buffer_dropped_total{${PROCESS}}${RATE}))`,
          "{{queue}}",
        ),
      ],
    },
    {
      title: "Grants and operations",
      panels: [
        {
          title: "Grants",
          about: "By state.",
          kind: "timeseries",
          unit: "short",
          stacked: true,
          queries: [{ expr: `max by (state) (sallyport_grants{${PROCESS}})`, legend: "{{state}}" }],
        },
        lines(
          "Decisions and ends",
          "Changes of a grant's state.",
          "short",
          `sum by (from, to) (increase(sallyport_grant_transitions_total{${PROCESS}}${RATE}))`,
          "{{from}} → {{to}}",
        ),
        {
          title: "Operations",
          about: "By how they ended; held were refused by the gate.",
          kind: "timeseries",
          unit: "short",
          stacked: true,
          queries: [
            { expr: `sum by (result) (increase(sallyport_operations_total{${PROCESS}}${RATE}))`, legend: "{{result}}" },
          ],
        },
        {
          title: "Duration of operations",
          about: "From claim to result.",
          kind: "heatmap",
          unit: "s",
          queries: [
            {
              expr: `sum by (le) (increase(sallyport_operation_duration_seconds_bucket{${PROCESS}}${RATE}))`,
              legend: "{{le}}",
            },
          ],
        },
        {
          title: "Refused",
          about: "By the operator's gate and by the agent's look at requests, by reason.",
          kind: "timeseries",
          unit: "short",
          width: 12,
          queries: [
            {
              expr: `sum by (reason) (increase(sallyport_refused_total{${PROCESS}}${RATE}))`,
              legend: "command: {{reason}}",
            },
            {
              expr: `sum by (reason) (increase(sallyport_requests_refused_total{${PROCESS}}${RATE}))`,
              legend: "request: {{reason}}",
            },
          ],
        },
        lines(
          "In progress",
          "Operations running now.",
          "short",
          `sum by (plugin) (sallyport_operations_in_progress{${PROCESS}})`,
          "{{plugin}}",
        ),
        lines(
          "Taken out of results",
          "Pieces of text that looked like secrets, by rule.",
          "short",
          `sum by (rule) (increase(sallyport_redactions_total{${PROCESS}}${RATE}))`,
          "{{rule}}",
        ),
        lines(
          "Left-over access removed",
          "By the sweep. More than none: something else forgot to.",
          "short",
          `sum by (kind) (increase(sallyport_access_removed_total{${PROCESS}}${RATE}))`,
          "{{kind}}",
        ),
      ],
    },
    {
      title: "Workloads in the opened namespaces",
      panels: [
        {
          title: "Health",
          about: "As reported to the vendor.",
          kind: "timeseries",
          unit: "short",
          stacked: true,
          width: 16,
          queries: [{ expr: `max by (kind, health) (sallyport_resources{${PROCESS}})`, legend: "{{kind}} {{health}}" }],
        },
        lines(
          "Reports",
          "Told to the platform: everything, what changed, or that nothing did.",
          "short",
          `sum by (mode, result) (increase(sallyport_resource_reports_total{${PROCESS}}${RATE}))`,
          "{{mode}} {{result}}",
        ),
        lines(
          "Lists",
          "One a kind and namespace, by what the agent can see of it.",
          "short",
          `max by (kind, state) (sallyport_collection_lists{${PROCESS}}) > 0`,
          "{{kind}} {{state}}",
        ),
        lines(
          "Bytes of reports",
          "Sent, compressed.",
          "Bps",
          `sum(rate(sallyport_controlplane_request_bytes_total{${PROCESS},route="sync.reconcile",direction="sent"}${RATE}))`,
          "sent",
        ),
      ],
    },
    DEBUG_ROW,
    MACHINE_ROW,
    RELEASE_ROW,
    ...PROCESS_ROWS,
  ],
};
