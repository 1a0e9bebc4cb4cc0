import { type Dashboard, INSTALLATION, INSTALLATION_LABELS, lines, RATE } from "./panel.ts";

const BY = "by (cluster, namespace)";
const WHERE = "{{cluster}} {{namespace}}";

/** Every installation whose metrics reach this Prometheus: for a customer with several clusters, or for the vendor. */
export const FLEET_DASHBOARD: Dashboard = {
  uid: "sallyport-fleet",
  title: "Sallyport / Fleet",
  about: "All installations: which one is away, which one is behind, and what ran where?",
  variables: INSTALLATION_LABELS,
  seenBy: "sallyport_agent_build_info",
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
  ],
};
